package main

import (
	"fmt"
	"io"
	"net"
	"strings"
)

// runRelay carries connections out of the node's network, which has no way out: each argument is `address=socket`, a TCP
// address to listen on and the unix socket where each connection goes on.
func runRelay(arguments []string) error {
	failed := make(chan error)
	for _, argument := range arguments {
		address, socket, found := strings.Cut(argument, "=")
		if !found {
			return fmt.Errorf("expected address=socket, got %q", argument)
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		go func() { failed <- relay(listener, socket) }()
		log("relay from %s to %s", address, socket)
	}
	return <-failed
}

func relay(listener net.Listener, socket string) error {
	for {
		from, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer from.Close()
			to, err := net.Dial("unix", socket)
			if err != nil {
				return // the caller sees its connection closed, as by a server that is away
			}
			defer to.Close()
			ended := make(chan struct{}, 2)
			carry := func(to io.Writer, from io.Reader) {
				_, _ = io.Copy(to, from)
				ended <- struct{}{}
			}
			go carry(to, from)
			go carry(from, to)
			<-ended
		}()
	}
}
