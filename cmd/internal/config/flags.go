package config

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
)

// Flags are the command line flags of a daemon. They override the file.
type Flags struct {
	file  string
	level string
	given Config
	set   *pflag.FlagSet
	read  func(path string) ([]byte, error) // reads the daemon's file, and those of modprobe.d
	found []string                          // files of Lustre in their usual paths that earlier calls of Load have used
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
	f := &Flags{given: Default(), set: set, read: readFile}
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

// Load returns the settings. It begins with the defaults; the options of Lustre's modules
// change them, then the file, then the flags. A wrong flag is an error of the command line. If
// system is set, Lustre's files in their usual paths are read unless other files are named. Load
// can be called again, to read the files anew.
func (f *Flags) Load(system bool) (*Loaded, error) {
	l, err := f.files(system)
	if err == nil {
		err = f.override(l)
	}
	if err != nil {
		return nil, err
	}
	if l.LNetConf != "" && !l.saysNetworks() {
		l.Networks = "lo" // no option names a network: the networks come from the LNetConf file, and 0@lo is always there
		l.Sources = append(l.Sources, Source{"networks", l.Networks, "lnet_conf"})
	}
	return l, checkFlags(&l.Config)
}

// override changes settings as the flags that were given say.
func (f *Flags) override(l *Loaded) (err error) {
	overrides := map[string]func(){
		"modprobe":      func() {},
		"lnet-conf":     func() { l.LNetConf = flagPath(f.given.LNetConf) },
		"networks":      func() { l.Networks, l.IP2Nets, l.Config.Sections.Net = f.given.Networks, "", nil },
		"accept-port":   func() { l.AcceptPort = f.given.AcceptPort },
		"o2ib-provider": func() { l.O2IB.Provider = f.given.O2IB.Provider },
		"socket":        func() { l.Socket = f.given.Socket },
		"state-dir":     func() { l.StateDir = f.given.StateDir },
		"runtime-dir":   func() { l.RuntimeDir = f.given.RuntimeDir },
		"capture":       func() { l.Capture = f.given.Capture },
		"metrics":       func() { l.Metrics = f.given.Metrics },
		"log-level":     func() { l.LogLevel, err = ParseLevel(f.level) },
		"log-format":    func() { l.LogFormat = f.given.LogFormat },
	}
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if f.set.Changed(name) {
			overrides[name]()
			l.Sources = append(l.Sources, Source{strings.ReplaceAll(name, "-", "_"), f.set.Lookup(name).Value.String(), "--" + name})
		}
	}
	if err != nil {
		return cli.Usagef("--log-level: %w", err)
	}
	return nil
}

// Reload is Load for a running daemon. It also reads the file LNetConf. It fails if a file is not whole,
// see readWhole, or if a file of Lustre that an earlier call used does not exist any more.
func (f *Flags) Reload(system bool) (*Loaded, error) {
	f.read = func(path string) ([]byte, error) { return readWhole(path, maxFileSize) }
	defer func() { f.read = readFile }()
	l, err := f.Load(system)
	if err == nil {
		err = l.wholeKeys()
	}
	if err != nil || l.LNetConf == "" {
		return l, err
	}
	text, err := readWhole(l.LNetConf, tree.MaxSize)
	if err == nil {
		err = l.readLNetConf(text)
	}
	if err != nil {
		return l, err
	}
	return l, errors.Join(l.ImportErrors()...)
}

// files reads the daemon's file and the options of Lustre's modules. The daemon's file can name the files
// with these options, so it is parsed first. It is parsed again after the options, because it overrides them.
func (f *Flags) files(system bool) (l *Loaded, err error) {
	l = &Loaded{Config: Default()}
	var text []byte
	if f.file != "" {
		if text, err = f.read(f.file); err == nil {
			l.Sources, err = l.parse(f.file, text)
		}
		if err != nil {
			return nil, err
		}
	} else if system && !f.set.Changed("networks") {
		l.Modprobe, l.LNetConf = f.present(SystemModprobe, "modprobe"), f.present(SystemLNetConf, "lnet-conf")
		if err := f.missing(l.Modprobe, l.LNetConf); err != nil {
			return nil, err
		}
	}
	if f.set.Changed("modprobe") {
		l.Modprobe = flagPath(f.given.Modprobe)
	}
	if l.Modprobe == "" {
		return l, nil
	}
	return f.onModules(l.Modprobe, l.LNetConf, text)
}

// onModules starts from the options of Lustre's modules in a file or folder, and applies the text
// of the daemon's file, if there is one.
func (f *Flags) onModules(modprobe, lnetConf string, text []byte) (*Loaded, error) {
	l := &Loaded{Config: Default()}
	l.LNetConf = lnetConf
	var err error
	l.Sources, l.Warnings, err = l.readModprobe(modprobe, f.read)
	if err == nil && f.file != "" {
		var more []Source
		more, err = l.parse(f.file, text)
		l.Sources = append(l.Sources, more...)
	}
	l.Modprobe = modprobe
	return l, err
}

// present returns path if a file or folder exists there, otherwise "". It also records path for the
// method missing, unless the given flag is set: then the value of the flag is used in place of path.
func (f *Flags) present(path, flag string) string {
	if !exists(path) {
		return ""
	}
	if !f.set.Changed(flag) && !slices.Contains(f.found, path) {
		f.found = append(f.found, path)
	}
	return path
}

// missing returns an error if a file that present has recorded is not among those that are used now.
func (f *Flags) missing(now ...string) error {
	for _, path := range f.found {
		if !slices.Contains(now, path) {
			return &Error{File: path, Err: errors.New("was there when lnetd read it before, and is gone: restart lnetd if that is meant")}
		}
	}
	return nil
}

// flagPath returns the path that a flag names, "" for none.
func flagPath(value string) string {
	if value == noFile {
		return ""
	}
	return value
}

// checkFlags refuses flags with values that would be refused in a file, too.
func checkFlags(c *Config) error {
	if c.AcceptPort < 1 || c.AcceptPort > 65535 {
		return cli.Usagef("--accept-port: want a port from 1 to 65535, not %d", c.AcceptPort)
	}
	if err := checkProvider(c.O2IB.Provider); err != nil {
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
