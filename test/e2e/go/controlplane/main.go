// Command controlplane is etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and kubelet in one
// program, for end-to-end tests. It runs the one that argv[0] names (through a link) or else the first argument.
//
// One program instead of six: they share most of their code, so it links in a fifth of the time and space.
//
// KCM_MAX_WAIT_FOR_UNMOUNT (a Go duration, "20s") replaces the 6 minutes after which the attach/detach
// controller detaches a volume by force. Upstream has no flag for it, and no test should last that long.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
	_ "time/tzdata" // the test's machine may have no time zone database

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/pkg/controller/volume/attachdetach"
)

const usage = "usage: controlplane etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubectl|kubelet [flags]"

func main() {
	name := filepath.Base(os.Args[0])
	if name == "controlplane" && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kubectl":
		runKubectl()
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-scheduler":
		run(scheduler.NewSchedulerCommand())
	case "kube-controller-manager":
		shortenWaitForUnmount()
		run(kcm.NewControllerManagerCommand())
	case "kubelet":
		run(kubelet.NewKubeletCommand(context.Background()))
	default:
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
}

func run(command *cobra.Command) {
	os.Exit(cli.Run(command))
}

func runKubectl() {
	logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err) // prints as kubectl does, and exits
	}
}

func shortenWaitForUnmount() {
	wanted := os.Getenv("KCM_MAX_WAIT_FOR_UNMOUNT")
	if wanted == "" {
		return
	}
	wait, err := time.ParseDuration(wanted)
	if err != nil {
		fmt.Fprintln(os.Stderr, "KCM_MAX_WAIT_FOR_UNMOUNT:", err)
		os.Exit(2)
	}
	attachdetach.DefaultTimerConfig.ReconcilerMaxWaitForUnmountDuration = wait
}
