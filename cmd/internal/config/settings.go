package config

import (
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"ulnet/cmd/internal/drivers"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
)

// A setting takes the value of one key.
type setting struct{ put func(value ast.Node) error }

// The largest values that make sense.
const (
	maxSeconds = 24 * 60 * 60
	maxCount   = 1 << 20
	maxBuffer  = 1 << 30
)

// settings returns the keys of a file. The value of each key is stored in c.
func (c *Config) settings(file string) map[string]setting {
	all := map[string]setting{
		"networks":               text(&c.Networks, checkNetworks),
		"source_check":           onOff(&c.SourceCheck),
		"lnet_peer_idle_timeout": duration(&c.PeerIdle, time.Second, 0, maxSeconds),

		"forwarding": text(&c.Forwarding, orEmpty(among("enabled", "disabled"))),
		"routing":    c.routingSection(file),

		"accept":         text(&c.Accept, orEmpty(among("secure", "all", "none", "trust"))),
		"accept_port":    number(&c.AcceptPort, 1, 65535),
		"accept_backlog": number(&c.AcceptBacklog, 1, 65535),
		"accept_timeout": duration(&c.AcceptTimeout, time.Second, 1, maxSeconds),
		"source_address": text(&c.SourceAddress, among("check", "off")),

		"peer_timeout":        duration(&c.PeerTimeout, time.Second, 1, maxSeconds),
		"peer_credits":        number(&c.PeerCredits, 1, maxCount),
		"peer_buffer_credits": number(&c.PeerBufferCredits, 0, maxCount),
		"credits":             number(&c.Credits, 1, maxCount),

		"eager_ack":      unused(0, 15),
		"nonblk_zcack":   unused(0, 1),
		"zc_min_payload": unused(0, maxBuffer),
		"nscheds":        unused(0, maxCount),
		"nconnds":        unused(0, maxCount),
		"nconnds_max":    unused(0, maxCount),

		"o2ib": section(file, o2ibSettings(&c.O2IB), c.checkO2IB),

		"udsp":       udspSection(&c.UDSP, file),
		"faults":     faults(&c.Faults),
		"fault_seed": number(&c.FaultSeed, 0, math.MaxInt32),

		"gossip": section(file, c.Gossip.settings(file), c.Gossip.check),
		"scoll":  section(file, c.Scoll.settings(file), nil),
		"rmcast": section(file, c.Rmcast.settings(file), nil),
		"health": section(file, c.Health.settings(file), c.Health.checkSection),
		"zone":   section(file, c.Zone.settings(file), c.Zone.check),

		"selftest":       flag(&c.Selftest),
		"selftest_allow": text(&c.SelftestAllow, orEmpty(checkSet)),

		"handlers": handlerSection(&c.Handlers, file),

		"modprobe":  pathOf(&c.Modprobe, file),
		"lnet_conf": pathOf(&c.LNetConf, file),

		"socket":        text(&c.Socket, nil),
		"state_dir":     text(&c.StateDir, nil),
		"runtime_dir":   text(&c.RuntimeDir, nil),
		"capture":       text(&c.Capture, nil),
		"capture_size":  number(&c.CaptureSize, 0, maxCount),
		"capture_time":  duration(&c.CaptureTime, time.Second, 0, 366*maxSeconds),
		"capture_files": number(&c.CaptureFiles, 1, 1000),
		"log_level":     level(&c.LogLevel),
		"log_format":    text(&c.LogFormat, checkLogFormat),
	}
	maps.Copy(all, c.globalSettings())
	maps.Copy(all, c.sectionSettings(file))
	maps.Copy(all, c.multicastSettings())
	maps.Copy(all, c.metricsSettings(file))
	maps.Copy(all, c.routeSettings())
	for _, d := range c.All() {
		if d.Section() == "" {
			maps.Copy(all, tunableSettings(d.Tunables()))
		} else if _, own := all[d.Section()]; !own {
			all[d.Section()] = section(file, tunableSettings(d.Tunables()), nil)
		}
	}
	return all
}

// multicastSettings returns the keys of multicast.
func (c *Config) multicastSettings() map[string]setting {
	return map[string]setting{
		"multicast":                flag(&c.Multicast),
		"multicast_port":           multicastPort(&c.MulticastPort),
		"multicast_base":           multicastBase(&c.MulticastBase, false),
		"multicast_base6":          multicastBase(&c.MulticastBase6, true),
		"multicast_ttl":            number(&c.MulticastTTL, 1, 255),
		"multicast_rx_buffer_size": number(&c.MulticastRxBuffer, 1, maxBuffer),
	}
}

func text(to *string, check func(string) error) setting {
	return setting{func(value ast.Node) error {
		n, ok := value.(*ast.StringNode)
		if !ok {
			return fmt.Errorf("want text, not %q; quotes make text of anything", value)
		}
		if check != nil {
			if err := check(n.Value); err != nil {
				return err
			}
		}
		*to = n.Value
		return nil
	}}
}

func number(to *int, least, most int) setting {
	return setting{func(value ast.Node) error {
		n, err := integer(value, least, most)
		if err == nil {
			*to = n
		}
		return err
	}}
}

// unused parses a number that has a meaning only in kernels, so that configurations of kernels
// can be read.
func unused(least, most int) setting { return number(new(int), least, most) }

func duration(to *time.Duration, unit time.Duration, least, most int) setting {
	return setting{func(value ast.Node) error {
		n, err := integer(value, least, most)
		if err == nil {
			*to = time.Duration(n) * unit
		}
		return err
	}}
}

// flag parses the 0 and 1 of module parameters, and YAML's booleans.
func flag(to *bool) setting {
	return setting{func(value ast.Node) error {
		switch n := value.(type) {
		case *ast.BoolNode:
			*to = n.Value
			return nil
		case *ast.StringNode:
			if n.Value == "yes" || n.Value == "no" {
				*to = n.Value == "yes"
				return nil
			}
		}
		n, err := integer(value, 0, 1)
		if err == nil {
			*to = n == 1
		}
		return err
	}}
}

// onOff parses on and off, and all that the function flag accepts.
func onOff(to *bool) setting {
	return setting{func(value ast.Node) error {
		if n, ok := value.(*ast.StringNode); ok && (n.Value == "on" || n.Value == "off") {
			*to = n.Value == "on"
			return nil
		}
		if flag(to).put(value) != nil {
			return fmt.Errorf("want on or off, not %q", value)
		}
		return nil
	}}
}

func level(to *slog.Level) setting {
	return text(new(string), func(s string) (err error) {
		*to, err = ParseLevel(s)
		return err
	})
}

func integer(value ast.Node, least, most int) (int, error) {
	if i, ok := value.(*ast.IntegerNode); ok {
		if n, err := strconv.Atoi(fmt.Sprint(i.Value)); err == nil && least <= n && n <= most {
			return n, nil
		}
	}
	return 0, fmt.Errorf("want a whole number from %d to %d, not %q", least, most, value)
}

// ParseLevel parses a log level: debug, info, warn or error.
func ParseLevel(s string) (slog.Level, error) {
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if strings.EqualFold(s, l.String()) {
			return l, nil
		}
	}
	return 0, fmt.Errorf("log level %q: want debug, info, warn or error", s)
}

// LevelName returns the text of a log level that ParseLevel parses.
func LevelName(l slog.Level) string { return strings.ToLower(l.String()) }

// among returns a check that refuses a text which is none of the given ones.
func among(texts ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(texts, s) {
			return fmt.Errorf("want %s, not %q", oneOf(texts), s)
		}
		return nil
	}
}

// orEmpty returns a check that accepts what the given one accepts, and the empty text, which stands for a default.
func orEmpty(check func(string) error) func(string) error {
	return func(s string) error {
		if s == "" {
			return nil
		}
		return check(s)
	}
}

// checkLogFormat and checkProvider refuse a text that is not a format of the log, or not a provider of RDMA.
var (
	checkLogFormat = among(LogText, LogJSON)
	checkProvider  = among(drivers.Providers...)
)

func checkNetworks(s string) error {
	_, err := networks.Parse(s)
	return err
}

func checkSet(s string) error {
	_, err := nid.ParseSet(s)
	return err
}
