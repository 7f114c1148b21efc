// Command logind stands in for systemd-logind on a node of end-to-end tests, and for the one method of systemd that a kubelet
// calls. It is what the kubelet's graceful node shutdown needs of both: delay locks, the announcement of a shutdown, and the
// end of a machine once nobody delays it any more.
//
//	logind serve      owns the names on the system bus, and logs a line per event
//	logind power-off  asks the one that serves for a shutdown
//	logind call-off   asks it to call the shutdown off
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	loginName      = "org.freedesktop.login1"
	loginPath      = dbus.ObjectPath("/org/freedesktop/login1")
	loginInterface = loginName + ".Manager"
	// The real one has no method to call a shutdown off: there a job fails, or is cancelled.
	testInterface = "dev.ebs_drain.test.Logind"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "logind:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	bus, err := dbus.ConnectSystemBus()
	if err != nil {
		return err
	}
	defer bus.Close()
	if len(arguments) != 1 {
		return fmt.Errorf("usage: logind serve|power-off|call-off")
	}
	served := bus.Object(loginName, loginPath)
	switch arguments[0] {
	case "serve":
		return serve(bus)
	case "power-off":
		return served.Call(loginInterface+".PowerOff", 0, false).Err
	case "call-off":
		return served.Call(testInterface+".CallOff", 0).Err
	default:
		return fmt.Errorf("unknown command %q", arguments[0])
	}
}

func log(format string, arguments ...any) {
	fmt.Printf(time.Now().UTC().Format("15:04:05.000")+" "+format+"\n", arguments...)
}
