package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"

	"ulnet/cmd/internal/config/tree"
)

// access gets and sets the field of a Config that belongs to a setting of the section global.
type access struct {
	get func() int64
	put func(int64)
}

// globals returns access to the fields of Config for settings of the section global, by their
// names in that section. A setting that is missing here is accepted and has no effect.
func (c *Config) globals() map[string]access {
	return map[string]access{
		"numa_range":                  count(&c.NUMARange),
		"max_interfaces":              count(&c.MaxInterfaces),
		"discovery":                   bit(&c.DiscoveryDisabled, true),
		"drop_asym_route":             bit(&c.DropAsymmetricRoute, false),
		"retry_count":                 count(&c.RetryCount),
		"transaction_timeout":         seconds(&c.TransactionTimeout),
		"health_sensitivity":          count(&c.HealthSensitivity),
		"router_sensitivity":          count(&c.RouterSensitivity),
		"response_tracking":           count(&c.ResponseTracking),
		"recovery_limit":              seconds(&c.RecoveryLimit),
		"max_recovery_ping_interval":  seconds(&c.RecoveryInterval),
		"avoid_asym_router_failure":   bit(&c.AvoidAsymmetric, false),
		"alive_router_check_interval": seconds(&c.CheckInterval),
		"router_ping_timeout":         seconds(&c.RouterPingTimeout),
	}
}

func count(to *int) access {
	return access{func() int64 { return int64(*to) }, func(n int64) { *to = int(n) }}
}

func seconds(to *time.Duration) access {
	return access{
		func() int64 { return int64(*to / time.Second) },
		func(n int64) { *to = time.Duration(n) * time.Second },
	}
}

// bit gives access to a field for a setting that is 0 or 1. If inverse is set, the field is true
// where the setting is 0.
func bit(to *bool, inverse bool) access {
	get := func() int64 {
		if *to != inverse {
			return 1
		}
		return 0
	}
	return access{get, func(n int64) { *to = (n == 1) != inverse }}
}

// globalSettings returns the keys of lnetd's file for the settings of the section global. These
// keys are the names of Lustre's module parameters.
func (c *Config) globalSettings() map[string]setting {
	all, fields := map[string]setting{}, c.globals()
	for _, s := range tree.NodeSettings() {
		all[s.Key] = setting{func(value ast.Node) error { return putGlobal(fields, s, value) }}
	}
	return all
}

// putGlobal puts the value of a module parameter into its field.
func putGlobal(fields map[string]access, s tree.NodeSetting, value ast.Node) error {
	var n int
	var err error
	if s.Least == 0 && s.Most == 1 {
		var yes bool
		err = flag(&yes).put(value)
		if yes != s.Inverse {
			n = 1
		}
	} else {
		n, err = integer(value, int(s.Least), int(s.Most))
	}
	if to, has := fields[s.Name]; err == nil && has {
		to.put(int64(n))
	}
	return err
}

// setGlobal puts a setting of the section global into its field.
func (c *Config) setGlobal(s tree.Setting) error {
	all := tree.NodeSettings()
	i := slices.IndexFunc(all, func(n tree.NodeSetting) bool { return n.Name == s.Name })
	switch {
	case s.Name == tree.ShownOnly: // cannot be set, as it follows from other settings
		return nil
	case s.Value < all[i].Least || s.Value > all[i].Most:
		return fmt.Errorf("%s: want a whole number from %d to %d, not %d", s.Name, all[i].Least, all[i].Most, s.Value)
	}
	if to, has := c.globals()[s.Name]; has {
		to.put(s.Value)
	}
	return nil
}

// Global returns the settings of the configuration that the section global has.
func (c *Config) Global() *tree.Global {
	g, fields := new(tree.Global), c.globals()
	for _, s := range tree.NodeSettings() {
		value := s.Usual
		if from, has := fields[s.Name]; has {
			value = from.get()
		}
		g.Set(tree.Setting{Name: s.Name, Value: value})
	}
	return g
}
