package main

import (
	"context"
	"flag"
	"net/http"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

// runLivenessProbe answers the kubelet's liveness probe of the driver's container, by asking the driver.
func runLivenessProbe(arguments []string) error {
	flags := flag.NewFlagSet("livenessprobe", flag.ExitOnError)
	address := flags.String("csi-address", "/csi/csi.sock", "the driver's socket")
	port := flags.String("health-port", "9808", "where to answer")
	_ = flags.Parse(arguments)

	connection, err := connect(*address)
	if err != nil {
		return err
	}
	onSignal("liveness probe", func() {})
	http.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if _, err := csi.NewIdentityClient(connection).Probe(ctx, &csi.ProbeRequest{}); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	return http.ListenAndServe(":"+*port, nil)
}
