package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// runPreStopHook stands in for the hook that the driver brings, v1.64: on a node that is cordoned it waits until no
// attachment of the node is left. It looks every second, where upstream's watches.
func runPreStopHook() error {
	node := os.Getenv("CSI_NODE_NAME")
	client, err := apiClient()
	if err != nil {
		return err
	}
	var found struct {
		Spec struct {
			Unschedulable bool `json:"unschedulable"`
		} `json:"spec"`
	}
	if err := client.get("/api/v1/nodes/"+node, &found); err != nil {
		return err
	}
	if !found.Spec.Unschedulable {
		return nil // not being drained
	}
	for {
		left, err := client.attachmentsOf(node)
		if err == nil && left == 0 {
			return nil
		}
		time.Sleep(time.Second)
	}
}

type apiServer struct {
	http  *http.Client
	url   string
	token string
}

func apiClient() (*apiServer, error) {
	authority, err := os.ReadFile(filepath.Join(serviceAccount, "ca.crt"))
	if err != nil {
		return nil, err
	}
	token, err := os.ReadFile(filepath.Join(serviceAccount, "token"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	address := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	return &apiServer{&http.Client{Transport: transport, Timeout: 10 * time.Second}, "https://" + address, string(token)}, nil
}

func (a *apiServer) attachmentsOf(node string) (int, error) {
	var list struct {
		Items []struct {
			Spec struct {
				NodeName string `json:"nodeName"`
				Attacher string `json:"attacher"`
			} `json:"spec"`
		} `json:"items"`
	}
	if err := a.get("/apis/storage.k8s.io/v1/volumeattachments", &list); err != nil {
		return 0, err
	}
	count := 0
	for _, item := range list.Items {
		if item.Spec.NodeName == node && item.Spec.Attacher == driverName {
			count++
		}
	}
	return count, nil
}

func (a *apiServer) get(path string, answer any) error {
	request, err := http.NewRequest(http.MethodGet, a.url+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	response, err := a.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}
