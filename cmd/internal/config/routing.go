package config

import (
	"time"

	"github.com/goccy/go-yaml/ast"

	"ulnet/lnet/router"
)

// Routing is the section routing of the file: a node that forwards messages between its nets. The
// comment of each field begins with its key.
type Routing struct {
	Enable bool // enable: the node forwards messages
	Tiny   int  // tiny: number of buffers without payload; 0: the usual number; the same holds for small and large
	Small  int  // small: number of buffers of one page
	Large  int  // large: number of buffers of 1 MiB
	Memory int  // memory: bound of the buffers in MiB
}

func defaultRouting() Routing { return Routing{Memory: 256} }

// Buffers returns the configuration of the router's buffers.
func (r *Routing) Buffers() router.Config {
	return router.Config{Tiny: r.Tiny, Small: r.Small, Large: r.Large, Memory: r.Memory << 20}
}

func (r *Routing) settings() map[string]setting {
	return map[string]setting{
		"enable": flag(&r.Enable),
		"tiny":   number(&r.Tiny, 0, maxCount),
		"small":  number(&r.Small, 0, maxCount),
		"large":  number(&r.Large, 0, maxCount),
		"memory": number(&r.Memory, 4, maxCount),
	}
}

// routingSection parses the section routing, or the list that 'lnetctl export' prints of a router.
func (c *Config) routingSection(file string) setting {
	return setting{func(value ast.Node) error {
		if _, list := value.(*ast.SequenceNode); list {
			return c.section(file, "routing", value)
		}
		return section(file, c.Routing.settings(), nil).put(value)
	}}
}

// IsRouter reports whether the file makes the node a router.
func (c *Config) IsRouter() bool { return c.Routing.Enable || c.Forwarding == "enabled" }

// RouterSilence is how long a net may be silent before this node, as a router, reports its own
// NI on that net as down. -1: never.
func (c *Config) RouterSilence() time.Duration {
	if c.CheckInterval <= 0 {
		return -1
	}
	return c.CheckInterval + c.RouterPingTimeout
}
