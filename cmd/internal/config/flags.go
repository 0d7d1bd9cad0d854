package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"ulnet/cmd/internal/cli"
)

// Flags are the command line flags of a daemon. They override the file.
type Flags struct {
	file  string
	level string
	given Config
	set   *pflag.FlagSet

	// Sources says where each given setting comes from; if a key has several entries, the last one
	// counts. Set by Config.
	Sources  []Source
	Warnings []Warning // lines without effect; set by Config
}

// The files of Lustre that a daemon of root reads if no flag names others.
const (
	SystemModprobe = "/etc/modprobe.d"
	SystemLNetConf = "/etc/lnet.conf"
)

// noFile is the value of a flag that means: read no such file of Lustre.
const noFile = "none"

// AddFlags defines the flags in set.
func AddFlags(set *pflag.FlagSet) *Flags {
	f := &Flags{given: Default(), set: set}
	set.StringVar(&f.file, "config", "", "configuration `FILE`; every key has a default")
	set.StringVar(&f.given.Networks, "networks", f.given.Networks, "networks and their interfaces or addresses, such as 'tcp(eth0),o2ib(10.0.0.1)'")
	set.StringVar(&f.given.Modprobe, "modprobe", "", "file or folder `PATH` with options of Lustre's modules, or none (default /etc/modprobe.d for root without --config and --networks)")
	set.StringVar(&f.given.LNetConf, "lnet-conf", "", "`FILE` in the YAML of lnetctl to import at the start, or none (default /etc/lnet.conf for root without --config and --networks)")
	set.IntVar(&f.given.AcceptPort, "accept-port", f.given.AcceptPort, "TCP `PORT` to listen on and to dial")
	set.StringVar(&f.given.O2IB.Provider, "o2ib-provider", f.given.O2IB.Provider, "`PROVIDER` of RDMA for networks o2ib: softroce, or ibverbs for hardware")
	set.StringVar(&f.given.Socket, "socket", "", "control socket `PATH` (default lnetd.sock in the runtime directory)")
	set.StringVar(&f.given.StateDir, "state-dir", "", "`DIR` for what outlives the daemon (default $STATE_DIRECTORY, /var/lib/lnetd or ~/.local/state/lnetd)")
	set.StringVar(&f.given.RuntimeDir, "runtime-dir", "", "`DIR` for the control socket (default $RUNTIME_DIRECTORY, /run/lnetd or $XDG_RUNTIME_DIR/lnetd)")
	set.StringVar(&f.given.Capture, "capture", "", "write every message to this pcapng `FILE`")
	set.StringVar(&f.given.Metrics, "metrics", "", "serve metrics for Prometheus at this `ADDR`: a port of 127.0.0.1, ADDRESS:PORT or the path of a Unix socket")
	set.StringVar(&f.level, "log-level", "info", "debug, info, warn or error")
	set.StringVar(&f.given.LogFormat, "log-format", f.given.LogFormat, "text, or json for an object on each line")
	return f
}

// Config returns the settings. It begins with the defaults; the options of Lustre's modules
// change them, then the file, then the flags. A wrong flag is an error of the command line. If
// system is set, Lustre's files in their usual paths are read unless other files are named.
func (f *Flags) Config(system bool) (Config, error) {
	c, err := f.files(system)
	if err != nil {
		return c, err
	}
	overrides := map[string]func(){
		"modprobe":      func() {},
		"lnet-conf":     func() { c.LNetConf = pathOf(f.given.LNetConf) },
		"networks":      func() { c.Networks, c.IP2Nets, c.Sections.Net = f.given.Networks, "", nil },
		"accept-port":   func() { c.AcceptPort = f.given.AcceptPort },
		"o2ib-provider": func() { c.O2IB.Provider = f.given.O2IB.Provider },
		"socket":        func() { c.Socket = f.given.Socket },
		"state-dir":     func() { c.StateDir = f.given.StateDir },
		"runtime-dir":   func() { c.RuntimeDir = f.given.RuntimeDir },
		"capture":       func() { c.Capture = f.given.Capture },
		"metrics":       func() { c.Metrics = f.given.Metrics },
		"log-format":    func() { c.LogFormat = f.given.LogFormat },
	}
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if f.set.Changed(name) {
			overrides[name]()
			f.Sources = append(f.Sources, Source{strings.ReplaceAll(name, "-", "_"), f.set.Lookup(name).Value.String(), "--" + name})
		}
	}
	said := func(s Source) bool { return s.Key == "networks" || s.Key == "ip2nets" || s.Key == "net" }
	if c.LNetConf != "" && !slices.ContainsFunc(f.Sources, said) {
		c.Networks = "lo" // no option names a network: the networks come from the LNetConf file, and 0@lo is always there
	}
	return c, f.check(&c)
}

// files reads the daemon's file and the options of Lustre's modules. The daemon's file can name the
// file of these options, so files reads it first. It then starts again with the options, and
// applies the daemon's file after them, because that takes precedence.
func (f *Flags) files(system bool) (c Config, err error) {
	c = Default()
	var text []byte
	if f.file != "" {
		if text, err = readFile(f.file); err == nil {
			f.Sources, err = c.parse(f.file, text)
		}
		if err != nil {
			return c, err
		}
	} else if system && !f.set.Changed("networks") {
		c.Modprobe, c.LNetConf = present(SystemModprobe), present(SystemLNetConf)
	}
	if f.set.Changed("modprobe") {
		c.Modprobe = pathOf(f.given.Modprobe)
	}
	if c.Modprobe == "" {
		return c, nil
	}
	return f.onModules(c, text)
}

// onModules starts from the options of Lustre's modules in the file named.Modprobe, and applies
// the text of the daemon's file, if there is one.
func (f *Flags) onModules(named Config, text []byte) (c Config, err error) {
	c = Default()
	c.LNetConf = named.LNetConf
	f.Sources, f.Warnings, err = c.ReadModprobe(named.Modprobe)
	if err == nil && f.file != "" {
		var more []Source
		more, err = c.parse(f.file, text)
		f.Sources = append(f.Sources, more...)
	}
	c.Modprobe = named.Modprobe
	return c, err
}

// present returns the path of a file or folder, or "" if there is none.
func present(path string) string {
	if !exists(path) {
		return ""
	}
	return path
}

// pathOf returns the path that a flag names, "" for none.
func pathOf(value string) string {
	if value == noFile {
		return ""
	}
	return value
}

// check refuses flags with values that would be refused in a file, too.
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
	if err := checkMetrics(c.Metrics); err != nil {
		return cli.Usagef("--metrics: %w", err)
	}
	if err := checkLogFormat(c.LogFormat); err != nil {
		return cli.Usagef("--log-format: %w", err)
	}
	if err := checkNetworks(c.Networks); err != nil {
		return cli.Usagef("--networks: %w", err)
	}
	return nil
}
