package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

// node mounts folders in the place of disks: one per volume, bound to the staging path and from there to the pod's.
type node struct {
	csi.UnimplementedNodeServer
	id      string
	volumes string
}

func (n node) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: n.id, MaxVolumesPerNode: 25}, nil
}

func (node) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	rpc := &csi.NodeServiceCapability_RPC{Type: csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME}
	return &csi.NodeGetCapabilitiesResponse{Capabilities: []*csi.NodeServiceCapability{
		{Type: &csi.NodeServiceCapability_Rpc{Rpc: rpc}},
	}}, nil
}

func (n node) NodeStageVolume(_ context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	volume := filepath.Join(n.volumes, r.VolumeId)
	if err := os.MkdirAll(volume, 0o777); err != nil {
		return nil, err
	}
	return &csi.NodeStageVolumeResponse{}, bind(volume, r.StagingTargetPath)
}

func (node) NodeUnstageVolume(_ context.Context, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	return &csi.NodeUnstageVolumeResponse{}, unbind(r.StagingTargetPath)
}

func (node) NodePublishVolume(_ context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	return &csi.NodePublishVolumeResponse{}, bind(r.StagingTargetPath, r.TargetPath)
}

func (node) NodeUnpublishVolume(_ context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	return &csi.NodeUnpublishVolumeResponse{}, unbind(r.TargetPath)
}

func bind(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if mounted, err := isMounted(to); mounted || err != nil {
		return err
	}
	return syscall.Mount(from, to, "", syscall.MS_BIND, "")
}

// unbind takes what is not mounted for done: the kubelet asks again after an answer that was lost.
func unbind(target string) error {
	mounted, err := isMounted(target)
	if err != nil {
		return err
	}
	if mounted {
		if err := syscall.Unmount(target, 0); err != nil {
			return err
		}
	}
	if err := os.Remove(target); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

func isMounted(target string) (bool, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	return strings.Contains(string(mounts), " "+target+" "), err
}
