package main

import (
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const driverName = "ebs.csi.aws.com"

// runDriver is the driver's node service, or its preStop hook where that is the first argument.
func runDriver(arguments []string) error {
	if len(arguments) > 0 && arguments[0] == "pre-stop-hook" {
		return runPreStopHook()
	}
	if len(arguments) == 0 || arguments[0] != "node" {
		return errors.New("usage: aws-ebs-csi-driver node|pre-stop-hook [flags]")
	}
	flags := flag.NewFlagSet("node", flag.ExitOnError)
	endpoint := flags.String("endpoint", "unix:/csi/csi.sock", "where to serve")
	for _, name := range []string{"csi-mount-point-prefix", "logging-format", "v"} {
		flags.String(name, "", "of upstream's, ignored")
	}
	_ = flags.Parse(arguments[1:])

	socket := strings.TrimPrefix(strings.TrimPrefix(*endpoint, "unix:"), "//")
	_ = os.Remove(socket) // left by a predecessor that was killed
	_ = os.Remove(filepath.Join(filepath.Dir(socket), sickFile))
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(logCalls))
	csi.RegisterIdentityServer(server, identity{sick: filepath.Join(filepath.Dir(socket), sickFile)})
	csi.RegisterNodeServer(server, node{id: os.Getenv("INSTANCE_ID"), volumes: "/volumes"})
	onSignal("driver", func() {})
	log("driver serves %s as %s", socket, os.Getenv("INSTANCE_ID"))
	return server.Serve(listener)
}

// sickFile lies beside the socket: while it is there the driver says that it is not well. A restart heals.
const sickFile = "sick"

type identity struct {
	csi.UnimplementedIdentityServer
	sick string
}

func (identity) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: driverName, VendorVersion: "stand-in"}, nil
}

func (identity) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	service := &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{
		{Type: &csi.PluginCapability_Service_{Service: service}},
	}}, nil
}

func (i identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	if _, err := os.Stat(i.sick); err == nil {
		return nil, status.Error(codes.Internal, "the driver is not well")
	}
	return &csi.ProbeResponse{}, nil
}

// logCalls logs what changes something; probes and capabilities are asked all the time.
func logCalls(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	started := time.Now()
	answer, err := handle(ctx, request)
	if volume, ok := request.(interface{ GetVolumeId() string }); ok {
		log("%s %s: %d ms, error: %v", path.Base(info.FullMethod), volume.GetVolumeId(), time.Since(started).Milliseconds(), err)
	}
	return answer, err
}
