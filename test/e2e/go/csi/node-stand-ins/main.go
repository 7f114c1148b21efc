// Command node-stand-ins is what runs on a real node in end-to-end tests besides kubelet and container runtime, in one
// program: the containers of the EBS CSI driver's node pod, a database, the pause container of every pod, and the relay
// through which the node reaches the API server. Which one it is, the name says under which it is called, as the images
// have it; the flags are those of upstream's programs that their chart sets, as far as they mean something here.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

var programs = map[string]func(arguments []string) error{
	"aws-ebs-csi-driver":        runDriver,
	"csi-node-driver-registrar": runRegistrar,
	"livenessprobe":             runLivenessProbe,
	"database":                  runDatabase,
	"pause":                     runPause,
	"relay":                     runRelay,
}

func main() {
	name := filepath.Base(os.Args[0])
	run, found := programs[name]
	if !found {
		fmt.Fprintf(os.Stderr, "%s is none of the stand-ins; call it by a link\n", name)
		os.Exit(2)
	}
	if err := run(os.Args[1:]); err != nil {
		log("%s: %v", name, err)
		os.Exit(1)
	}
}

func log(format string, arguments ...any) {
	fmt.Printf(time.Now().UTC().Format("15:04:05.000")+" "+format+"\n", arguments...)
}

// onSignal runs end once the program is asked to end, and then ends it.
func onSignal(name string, end func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		log("%s got %v", name, <-signals)
		end()
		log("%s ends", name)
		os.Exit(0)
	}()
}
