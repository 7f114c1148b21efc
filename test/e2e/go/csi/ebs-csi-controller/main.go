// Command ebs-csi-controller stands in for the controller of the EBS CSI driver in end-to-end tests: a CSI
// Identity and Controller service on a unix socket that attaches and detaches volumes through an EC2 endpoint.
// The real external attacher is its client, so an attachment passes through the same steps as in a cluster.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path"
	"syscall"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
)

func main() {
	driver := flag.String("driver", "ebs.csi.aws.com", "CSI driver name")
	socket := flag.String("socket", "", "unix socket to serve on")
	endpoint := flag.String("ec2", "", "URL of the EC2 endpoint")
	poll := flag.Duration("poll", 250*time.Millisecond, "time between two looks at a volume")
	flag.Parse()
	if *socket == "" || *endpoint == "" {
		fmt.Fprintln(os.Stderr, "usage: ebs-csi-controller -socket PATH -ec2 URL [-driver NAME] [-poll DURATION]")
		os.Exit(2)
	}

	_ = os.Remove(*socket) // left by a predecessor that was killed
	listener, err := net.Listen("unix", *socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(logCalls))
	csi.RegisterIdentityServer(server, identity{driver: *driver})
	csi.RegisterControllerServer(server, &controller{ec2: &ec2{endpoint: *endpoint, poll: *poll}})

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-signals
		server.Stop() // at once: the attacher tries a call again that got no answer
	}()
	log("serving %s on %s, EC2 at %s", *driver, *socket, *endpoint)
	if err := server.Serve(listener); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func logCalls(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	started := time.Now()
	answer, err := handle(ctx, request)
	switch r := request.(type) {
	case *csi.ControllerPublishVolumeRequest:
		log("%s %s %s: %d ms, error: %v", path.Base(info.FullMethod), r.VolumeId, r.NodeId, time.Since(started).Milliseconds(), err)
	case *csi.ControllerUnpublishVolumeRequest:
		log("%s %s %s: %d ms, error: %v", path.Base(info.FullMethod), r.VolumeId, r.NodeId, time.Since(started).Milliseconds(), err)
	}
	return answer, err
}

func log(format string, arguments ...any) {
	fmt.Printf(time.Now().UTC().Format("15:04:05.000")+" "+format+"\n", arguments...)
}
