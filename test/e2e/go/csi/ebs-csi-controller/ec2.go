package main

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ec2 is the part of the EC2 Query protocol that attaches and detaches volumes. Requests are plain form POSTs:
// the endpoint is a simulator on the loopback interface, which checks no signature.
type ec2 struct {
	endpoint string
	poll     time.Duration
	http     http.Client
}

// ec2Error is an answer that EC2 itself gave; any other error means that nobody knows what EC2 did.
type ec2Error struct {
	Code    string `xml:"Errors>Error>Code"`
	Message string `xml:"Errors>Error>Message"`
}

func (e *ec2Error) Error() string { return e.Code + ": " + e.Message }

type attachment struct {
	InstanceID string `xml:"instanceId"`
	Device     string `xml:"device"`
	Status     string `xml:"status"`
}

type volume struct {
	VolumeID    string       `xml:"volumeId"`
	Status      string       `xml:"status"`
	Attachments []attachment `xml:"attachmentSet>item"`
}

// on returns the volume's attachment to an instance, in whatever state it is.
func (v volume) on(instanceID string) (attachment, bool) {
	for _, a := range v.Attachments {
		if a.InstanceID == instanceID && a.Status != "detached" {
			return a, true
		}
	}
	return attachment{}, false
}

func (e *ec2) call(ctx context.Context, action string, form url.Values, answer any) error {
	form.Set("Action", action)
	form.Set("Version", "2016-11-15")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	response, err := e.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		failure := &ec2Error{}
		if xml.Unmarshal(body, failure) != nil || failure.Code == "" {
			return fmt.Errorf("%s: %s: %.200s", action, response.Status, body)
		}
		return failure
	}
	if answer == nil {
		return nil
	}
	return xml.Unmarshal(body, answer)
}

func (e *ec2) attach(ctx context.Context, volumeID, instanceID, device string) error {
	return e.call(ctx, "AttachVolume", url.Values{
		"VolumeId": {volumeID}, "InstanceId": {instanceID}, "Device": {device},
	}, nil)
}

func (e *ec2) detach(ctx context.Context, volumeID, instanceID string) error {
	return e.call(ctx, "DetachVolume", url.Values{"VolumeId": {volumeID}, "InstanceId": {instanceID}}, nil)
}

func (e *ec2) describe(ctx context.Context, volumeID string) (volume, error) {
	var answer struct {
		Volumes []volume `xml:"volumeSet>item"`
	}
	if err := e.call(ctx, "DescribeVolumes", url.Values{"VolumeId.1": {volumeID}}, &answer); err != nil {
		return volume{}, err
	}
	if len(answer.Volumes) != 1 {
		return volume{}, fmt.Errorf("DescribeVolumes %s: %d volumes", volumeID, len(answer.Volumes))
	}
	return answer.Volumes[0], nil
}

// waitAttached returns the device once EC2 says attached. An attachment that disappears meanwhile is an error:
// EC2 takes an attach back that the instance could not carry out.
func (e *ec2) waitAttached(ctx context.Context, volumeID, instanceID string) (string, error) {
	for {
		v, err := e.describe(ctx, volumeID)
		if err != nil && !isTransient(err) {
			return "", err
		}
		if err == nil {
			a, found := v.on(instanceID)
			switch {
			case !found:
				return "", fmt.Errorf("volume %s is %s and not attached to %s", volumeID, v.Status, instanceID)
			case a.Status == "attached" || a.Status == "busy":
				return a.Device, nil
			}
		}
		if err := sleep(ctx, e.poll); err != nil {
			return "", err
		}
	}
}

// waitDetached returns once EC2 shows no attachment to the instance.
func (e *ec2) waitDetached(ctx context.Context, volumeID, instanceID string) error {
	for {
		v, err := e.describe(ctx, volumeID)
		if err != nil && !isTransient(err) {
			return err
		}
		if err == nil {
			if _, found := v.on(instanceID); !found {
				return nil
			}
		}
		if err := sleep(ctx, e.poll); err != nil {
			return err
		}
	}
}

// isTransient says whether asking again may help: throttling, or no answer from EC2 at all.
func isTransient(err error) bool {
	switch code(err) {
	case "", "RequestLimitExceeded", "Throttling", "InternalError", "Unavailable", "ServiceUnavailable":
		return true
	default:
		return false
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
