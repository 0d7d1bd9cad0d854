package config

import (
	"github.com/spf13/pflag"

	"ulnet/cmd/internal/cli"
)

// Flags are the command line flags of a daemon. What is given there overrides
// the file.
type Flags struct {
	file  string
	level string
	given Config
	set   *pflag.FlagSet
}

// AddFlags defines the flags in set.
func AddFlags(set *pflag.FlagSet) *Flags {
	f := &Flags{given: Default(), set: set}
	set.StringVar(&f.file, "config", "", "configuration `FILE`; every key has a default")
	set.StringVar(&f.given.Networks, "networks", f.given.Networks, "networks and their interfaces or addresses, such as 'tcp(eth0),o2ib(10.0.0.1)'")
	set.IntVar(&f.given.AcceptPort, "accept-port", f.given.AcceptPort, "TCP `PORT` to listen on and to dial")
	set.StringVar(&f.given.O2IB.Provider, "o2ib-provider", f.given.O2IB.Provider, "`PROVIDER` of RDMA for networks o2ib: softroce, or ibverbs for hardware")
	set.StringVar(&f.given.Socket, "socket", "", "control socket `PATH` (default lnetd.sock in the runtime directory)")
	set.StringVar(&f.given.StateDir, "state-dir", "", "`DIR` for what outlives the daemon (default $STATE_DIRECTORY, /var/lib/lnetd or ~/.local/state/lnetd)")
	set.StringVar(&f.given.RuntimeDir, "runtime-dir", "", "`DIR` for the control socket (default $RUNTIME_DIRECTORY, /run/lnetd or $XDG_RUNTIME_DIR/lnetd)")
	set.StringVar(&f.given.Capture, "capture", "", "write every message to this pcapng `FILE`")
	set.StringVar(&f.level, "log-level", "info", "debug, info, warn or error")
	return f
}

// Config returns the defaults, changed by the file, changed by the flags. What
// is wrong with a flag is an error of usage.
func (f *Flags) Config() (Config, error) {
	c := Default()
	if f.file != "" {
		var err error
		if c, err = Load(f.file); err != nil {
			return c, err
		}
	}
	for name, override := range map[string]func(){
		"networks":      func() { c.Networks, c.IP2Nets = f.given.Networks, "" },
		"accept-port":   func() { c.AcceptPort = f.given.AcceptPort },
		"o2ib-provider": func() { c.O2IB.Provider = f.given.O2IB.Provider },
		"socket":        func() { c.Socket = f.given.Socket },
		"state-dir":     func() { c.StateDir = f.given.StateDir },
		"runtime-dir":   func() { c.RuntimeDir = f.given.RuntimeDir },
		"capture":       func() { c.Capture = f.given.Capture },
	} {
		if f.set.Changed(name) {
			override()
		}
	}
	return c, f.check(&c)
}

// check refuses flags that the file would not have let through.
func (f *Flags) check(c *Config) error {
	if f.set.Changed("log-level") {
		var err error
		if c.LogLevel, err = ParseLevel(f.level); err != nil {
			return cli.Usagef("--log-level: %w", err)
		}
	}
	if c.AcceptPort < 1 || c.AcceptPort > 65535 {
		return cli.Usagef("--accept-port: want a port from 1 to 65535, not %d", c.AcceptPort)
	}
	if err := CheckProvider(c.O2IB.Provider); err != nil {
		return cli.Usagef("--o2ib-provider: %w", err)
	}
	if err := checkNetworks(c.Networks); err != nil {
		return cli.Usagef("--networks: %w", err)
	}
	return nil
}
