package main

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

const delayProperty = "InhibitDelayMaxUSec"

// defaultDelay is the real one's, which no kubelet finds long enough.
const defaultDelay = 5 * time.Second

// manager is logind's object on the bus.
type manager struct {
	bus        *dbus.Conn
	properties *prop.Properties

	mutex sync.Mutex
	locks map[int]lock
	next  int
	// Closed and made anew whenever a lock is released.
	released chan struct{}
	// Ends the wait of a shutdown that is under way.
	callOff context.CancelFunc
}

type lock struct {
	who string
	pid uint32
}

func serve(bus *dbus.Conn) error {
	m := &manager{bus: bus, locks: map[int]lock{}, released: make(chan struct{})}
	methods := map[string]any{"Inhibit": m.inhibit, "PowerOff": m.powerOff}
	if err := bus.ExportMethodTable(methods, loginPath, loginInterface); err != nil {
		return err
	}
	if err := bus.ExportMethodTable(map[string]any{"CallOff": m.calledOff}, loginPath, testInterface); err != nil {
		return err
	}
	delay := &prop.Prop{Value: uint64(defaultDelay.Microseconds()), Emit: prop.EmitTrue}
	properties, err := prop.Export(bus, loginPath, prop.Map{loginInterface: {delayProperty: delay}})
	if err != nil {
		return err
	}
	m.properties = properties
	if err := exportSystemd(bus, m); err != nil {
		return err
	}
	for _, name := range []string{loginName, systemdName} {
		reply, err := bus.RequestName(name, dbus.NameFlagDoNotQueue)
		if err != nil {
			return err
		}
		if reply != dbus.RequestNameReplyPrimaryOwner {
			return fmt.Errorf("%s has an owner already", name)
		}
	}
	log("logind serves")
	<-bus.Context().Done()
	return bus.Context().Err()
}

// inhibit gives out a lock: the write end of a pipe, held until the last copy of it is closed.
func (m *manager) inhibit(sender dbus.Sender, what, who, _, mode string) (dbus.UnixFD, *dbus.Error) {
	if what != "shutdown" || mode != "delay" {
		return 0, dbus.MakeFailedError(fmt.Errorf("only a delay of a shutdown is stood in for, not %s of %s", mode, what))
	}
	var pid uint32
	if err := m.bus.BusObject().Call("org.freedesktop.DBus.GetConnectionUnixProcessID", 0, string(sender)).Store(&pid); err != nil {
		return 0, dbus.MakeFailedError(err)
	}
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		return 0, dbus.MakeFailedError(err)
	}
	m.mutex.Lock()
	m.next++
	id := m.next
	m.locks[id] = lock{who: who, pid: pid}
	m.mutex.Unlock()
	log("lock %d: %s delays shutdowns", id, who)
	// Our own copy, or nobody ever sees the end of the lock. The library does not tell when the answer has been sent.
	time.AfterFunc(time.Second, func() { _ = syscall.Close(pipe[1]) })
	go m.awaitRelease(id, pipe[0])
	return dbus.UnixFD(pipe[1]), nil
}

func (m *manager) awaitRelease(id, readEnd int) {
	defer syscall.Close(readEnd)
	for {
		// Nobody writes: it returns when the last copy of the other end is closed.
		if _, err := syscall.Read(readEnd, make([]byte, 1)); err != syscall.EINTR {
			break
		}
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	log("lock %d: released by %s", id, m.locks[id].who)
	delete(m.locks, id)
	close(m.released)
	m.released = make(chan struct{})
}

// powerOff announces the shutdown and answers; the machine ends when nobody delays it any more, or the delay is over.
func (m *manager) powerOff(_ bool) *dbus.Error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.callOff != nil {
		return dbus.MakeFailedError(fmt.Errorf("a shutdown is under way already"))
	}
	var holders []lock
	for _, each := range m.locks {
		holders = append(holders, each)
	}
	ctx, cancel := context.WithTimeout(context.Background(), m.delay())
	m.callOff = cancel
	log("PrepareForShutdown(true), %d lock(s), at most %s", len(holders), m.delay())
	if err := m.announce(true); err != nil {
		return dbus.MakeFailedError(err)
	}
	go m.endMachine(ctx, holders)
	return nil
}

// calledOff announces that there will be no shutdown.
func (m *manager) calledOff() *dbus.Error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.callOff == nil {
		return dbus.MakeFailedError(fmt.Errorf("no shutdown is under way"))
	}
	m.callOff()
	m.callOff = nil
	log("PrepareForShutdown(false)")
	if err := m.announce(false); err != nil {
		return dbus.MakeFailedError(err)
	}
	return nil
}

// endMachine kills who held a lock: a kubelet that does not live on after its machine, not even for a report. The rest of
// the machine is ended by whoever reads the log.
func (m *manager) endMachine(ctx context.Context, holders []lock) {
	for {
		m.mutex.Lock()
		left, released := len(m.locks), m.released
		m.mutex.Unlock()
		if ctx.Err() == context.Canceled {
			return
		}
		if left == 0 {
			break
		}
		select {
		case <-released:
			continue
		case <-ctx.Done():
		}
		if ctx.Err() == context.DeadlineExceeded {
			log("the delay is over, %d lock(s) held", left)
			break
		}
	}
	for _, holder := range holders {
		if err := syscall.Kill(int(holder.pid), syscall.SIGKILL); err != nil {
			log("%s cannot be killed: %v", holder.who, err)
		}
	}
	log("power off")
}

func (m *manager) announce(isShutdown bool) error {
	return m.bus.Emit(loginPath, loginInterface+".PrepareForShutdown", isShutdown)
}

func (m *manager) delay() time.Duration {
	value, _ := m.properties.GetMust(loginInterface, delayProperty).(uint64)
	return time.Duration(value) * time.Microsecond
}
