package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type identity struct {
	csi.UnimplementedIdentityServer
	driver string
}

func (i identity) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: i.driver, VendorVersion: "stand-in"}, nil
}

func (identity) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	service := &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{
		{Type: &csi.PluginCapability_Service_{Service: service}},
	}}, nil
}

func (identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

type controller struct {
	csi.UnimplementedControllerServer
	ec2     *ec2
	devices deviceNames
}

func (*controller) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	rpc := &csi.ControllerServiceCapability_RPC{Type: csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME}
	return &csi.ControllerGetCapabilitiesResponse{Capabilities: []*csi.ControllerServiceCapability{
		{Type: &csi.ControllerServiceCapability_Rpc{Rpc: rpc}},
	}}, nil
}

// ControllerPublishVolume attaches the volume to the instance that the CSINode's node id names, and returns when
// EC2 says attached. It may be called again after a time-out: an attachment to this very instance is then waited
// for. An attachment to another instance is left to EC2 to refuse, so that the error is EC2's own.
func (c *controller) ControllerPublishVolume(ctx context.Context, r *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	v, err := c.ec2.describe(ctx, r.VolumeId)
	if err != nil {
		return nil, publishError(r, err)
	}
	if _, found := v.on(r.NodeId); !found {
		device := c.devices.next(r.NodeId)
		if err := c.ec2.attach(ctx, r.VolumeId, r.NodeId, device); err != nil {
			return nil, publishError(r, err)
		}
	}
	device, err := c.ec2.waitAttached(ctx, r.VolumeId, r.NodeId)
	if err != nil {
		return nil, publishError(r, err)
	}
	return &csi.ControllerPublishVolumeResponse{PublishContext: map[string]string{"devicePath": device}}, nil
}

// ControllerUnpublishVolume detaches the volume and returns when EC2 shows no attachment to the instance. Like the
// real driver it takes a volume that is not attached, or an instance or volume that is gone, for detached.
func (c *controller) ControllerUnpublishVolume(ctx context.Context, r *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	err := c.ec2.detach(ctx, r.VolumeId, r.NodeId)
	switch code(err) {
	case "IncorrectState", "InvalidAttachment.NotFound", "InvalidVolume.NotFound", "InvalidInstanceID.NotFound":
		return c.unlessStillAttached(ctx, r)
	}
	if err == nil {
		err = c.ec2.waitDetached(ctx, r.VolumeId, r.NodeId)
	}
	if err != nil {
		return nil, status.Errorf(grpcCode(err), "could not detach volume %q from node %q: %v", r.VolumeId, r.NodeId, err)
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

// unlessStillAttached tells the two meanings of EC2's refusal apart: the volume is not attached (the work is done),
// or it is in a state in which no detach can start, for example already detaching (wait for it).
func (c *controller) unlessStillAttached(ctx context.Context, r *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	err := c.ec2.waitDetached(ctx, r.VolumeId, r.NodeId)
	if err != nil && code(err) != "InvalidVolume.NotFound" {
		return nil, status.Errorf(grpcCode(err), "could not detach volume %q from node %q: %v", r.VolumeId, r.NodeId, err)
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

func publishError(r *csi.ControllerPublishVolumeRequest, err error) error {
	return status.Errorf(grpcCode(err), "could not attach volume %q to node %q: %v", r.VolumeId, r.NodeId, err)
}

// grpcCode only ever picks codes that the external attacher tries again.
func grpcCode(err error) codes.Code {
	if errors.Is(err, context.DeadlineExceeded) {
		return codes.DeadlineExceeded
	}
	switch code(err) {
	case "VolumeInUse", "IncorrectState", "IncorrectInstanceState":
		return codes.FailedPrecondition
	case "InvalidVolume.NotFound", "InvalidInstanceID.NotFound":
		return codes.NotFound
	case "AttachmentLimitExceeded":
		return codes.ResourceExhausted
	default:
		return codes.Internal
	}
}

// code is EC2's error code, or empty where the error is not EC2's.
func code(err error) string {
	var failure *ec2Error
	if errors.As(err, &failure) {
		return failure.Code
	}
	return ""
}

// deviceNames hands out device names per instance, /dev/xvdaa to /dev/xvddx as the real driver does. The turn goes
// on after a refusal, so a name that EC2 says is taken is not asked for again at once.
type deviceNames struct {
	mutex  sync.Mutex
	handed map[string]int
}

func (d *deviceNames) next(instanceID string) string {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.handed == nil {
		d.handed = map[string]int{}
	}
	n := d.handed[instanceID]
	d.handed[instanceID] = n + 1
	n %= 4 * 24
	return fmt.Sprintf("/dev/xvd%c%c", 'a'+n/24, 'a'+n%24)
}
