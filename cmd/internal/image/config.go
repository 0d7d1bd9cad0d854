package main

import (
	"fmt"
	"time"
)

// imageConfig says how a container of the image runs (Docker's "Image JSON", which is OCI's with a
// health check).
type imageConfig struct {
	Created      time.Time `json:"created"`
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Config       execution `json:"config"`
	RootFS       rootFS    `json:"rootfs"`
	History      []history `json:"history"`
}

type execution struct {
	User         string              `json:"User"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts"`
	Env          []string            `json:"Env"`
	Entrypoint   []string            `json:"Entrypoint"`
	Cmd          []string            `json:"Cmd"`
	Healthcheck  healthcheck         `json:"Healthcheck"`
	Volumes      map[string]struct{} `json:"Volumes"`
	WorkingDir   string              `json:"WorkingDir"`
	Labels       map[string]string   `json:"Labels"`
	StopSignal   string              `json:"StopSignal"`
}

// healthcheck is the program by which Docker knows whether a container works.
type healthcheck struct {
	Test        []string      `json:"Test"`
	Interval    time.Duration `json:"Interval"`
	Timeout     time.Duration `json:"Timeout"`
	StartPeriod time.Duration `json:"StartPeriod"`
	Retries     int           `json:"Retries"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"` // digests of the layers before they are compressed
}

type history struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

// config returns the configuration of the image with a layer.
func (o *options) config(layer string) imageConfig {
	return imageConfig{
		Created: o.created, Architecture: o.arch, OS: "linux",
		Config: execution{
			User:         fmt.Sprintf("%d:%[1]d", user),
			ExposedPorts: map[string]struct{}{"988/tcp": {}, "4791/udp": {}},
			Env:          []string{"PATH=/usr/bin", "STATE_DIRECTORY=/" + stateDir, "RUNTIME_DIRECTORY=/" + runtimeDir},
			Entrypoint:   []string{"/usr/bin/lnetd"},
			Cmd:          []string{"--config", "/etc/ulnet/lnetd.yaml"},
			// The node pings itself. The ping uses the control socket, portals and lnet, and no network.
			Healthcheck: healthcheck{
				Test:     []string{"CMD", "/usr/bin/ulnet-lnetctl", "ping", "--timeout", "3s", "0@lo"},
				Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: 10 * time.Second, Retries: 3,
			},
			Volumes:    map[string]struct{}{"/" + stateDir: {}},
			WorkingDir: "/",
			Labels: map[string]string{
				"org.opencontainers.image.title": "ulnet", "org.opencontainers.image.version": o.version,
				"org.opencontainers.image.licenses":    "Apache-2.0",
				"org.opencontainers.image.description": "LNet, the network stack of the Lustre file system, in userspace",
			},
			StopSignal: "SIGTERM",
		},
		RootFS:  rootFS{"layers", []string{layer}},
		History: []history{{o.created, "make image"}},
	}
}
