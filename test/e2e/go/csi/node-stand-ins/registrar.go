package main

import (
	"context"
	"flag"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const registrationFolder = "/registration"

// runRegistrar tells the kubelet about the driver as upstream's does: through a socket in the kubelet's folder, which it
// takes away when it is asked to end. The kubelet takes that for the driver's end.
func runRegistrar(arguments []string) error {
	flags := flag.NewFlagSet("csi-node-driver-registrar", flag.ExitOnError)
	address := flags.String("csi-address", "/csi/csi.sock", "the driver's socket")
	endpoint := flags.String("kubelet-registration-path", "", "the driver's socket as the kubelet sees it")
	health := flags.String("http-endpoint", "", "where to answer the kubelet's liveness probe")
	flags.Int("v", 0, "ignored")
	_ = flags.Parse(arguments)

	if *health != "" {
		http.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
		go func() { log("health: %v", http.ListenAndServe(*health, nil)) }()
	}
	name, err := waitForName(*address)
	if err != nil {
		return err
	}
	socket := filepath.Join(registrationFolder, name+"-reg.sock")
	_ = os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	onSignal("registrar", func() { _ = os.Remove(socket) })
	server := grpc.NewServer()
	registration.RegisterRegistrationServer(server, registrar{name: name, endpoint: *endpoint})
	log("registrar serves %s", socket)
	return server.Serve(listener)
}

type registrar struct {
	registration.UnimplementedRegistrationServer
	name     string
	endpoint string
}

func (r registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: r.name, Endpoint: r.endpoint, SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (registrar) NotifyRegistrationStatus(_ context.Context, s *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	log("registered: %v %s", s.PluginRegistered, s.Error)
	if !s.PluginRegistered {
		os.Exit(1) // as upstream's: the kubelet starts it again
	}
	return &registration.RegistrationStatusResponse{}, nil
}

// waitForName asks the driver for its name until it answers.
func waitForName(address string) (string, error) {
	connection, err := connect(address)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		info, err := csi.NewIdentityClient(connection).GetPluginInfo(ctx, &csi.GetPluginInfoRequest{}, grpc.WaitForReady(true))
		cancel()
		if err == nil {
			return info.GetName(), nil
		}
		log("waiting for the driver: %v", err)
	}
}

func connect(address string) (*grpc.ClientConn, error) {
	target := "unix://" + strings.TrimPrefix(strings.TrimPrefix(address, "unix:"), "//")
	return grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
}
