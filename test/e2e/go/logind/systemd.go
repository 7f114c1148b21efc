package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"

	"github.com/godbus/dbus/v5"
)

const systemdName = "org.freedesktop.systemd1"

// dropIn is where a kubelet writes how long it wants to delay a shutdown.
const dropIn = "/etc/systemd/logind.conf.d/99-kubelet.conf"

var delaySetting = regexp.MustCompile(`(?m)^InhibitDelayMaxSec=(\d+)$`)

func exportSystemd(bus *dbus.Conn, m *manager) error {
	methods := map[string]any{"KillUnit": m.killUnit}
	return bus.ExportMethodTable(methods, "/org/freedesktop/systemd1", systemdName+".Manager")
}

// killUnit is systemd's way to signal a service: by SIGHUP logind reads its settings again.
func (m *manager) killUnit(unit, _ string, signal int32) *dbus.Error {
	if unit != "systemd-logind.service" || signal != 1 {
		return dbus.MakeFailedError(fmt.Errorf("only SIGHUP for logind is stood in for, not %d for %s", signal, unit))
	}
	text, err := os.ReadFile(dropIn)
	if err != nil {
		return dbus.MakeFailedError(err)
	}
	found := delaySetting.FindSubmatch(text)
	if found == nil {
		return dbus.MakeFailedError(fmt.Errorf("%s sets no InhibitDelayMaxSec", dropIn))
	}
	seconds, err := strconv.ParseUint(string(found[1]), 10, 32)
	if err != nil {
		return dbus.MakeFailedError(err)
	}
	m.properties.SetMust(loginInterface, delayProperty, seconds*1_000_000)
	log("a shutdown may be delayed by %d s", seconds)
	return nil
}
