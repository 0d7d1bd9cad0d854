package config

import (
	"maps"
	"slices"

	"ulnet/cmd/internal/drivers"
)

// Load reads a configuration file.
func Load(path string) (Config, error) {
	text, err := readFile(path)
	if err != nil {
		return Config{}, err
	}
	return Parse(path, text)
}

// ReadModprobe reads the options of Lustre's modules from a file or a directory.
func (c *Config) ReadModprobe(path string) (sources []Source, warnings []Warning, err error) {
	return c.readModprobe(path, readFile)
}

// keysOf returns keys in alphabetical order.
func keysOf(settings map[string]setting) []string { return slices.Sorted(maps.Keys(settings)) }

// Keys returns the keys at the top level of the file.
func Keys() []string { return keysOf(new(Config).settings("")) }

// RestartKeys returns the keys at the top level of the file whose changes need a restart of the daemon.
func RestartKeys() []string { return slices.DeleteFunc(Keys(), AtRunTime) }

// GossipKeys returns the keys of the section gossip.
func GossipKeys() []string { return keysOf(new(Gossip).settings("")) }

// ZoneKeys returns the keys of the section zone.
func ZoneKeys() []string { return keysOf(new(Zone).settings("")) }

// HandlerKeys returns the keys of a handler.
func HandlerKeys() []string { return keysOf(new(Handler).settings()) }

// O2IBKeys returns the keys of the section o2ib.
func O2IBKeys() []string { return keysOf(o2ibSettings(new(drivers.O2IB))) }

// HealthKeys returns the keys of the section health, and those of times in it.
func HealthKeys() (keys, ofTimes []string) {
	var h Health
	return keysOf(h.settings("")), keysOf(timeSettings(&h.Times))
}

// ScollKeys returns the keys of the section scoll, and those of the section admin inside it.
func ScollKeys() (keys, ofAdmin []string) {
	var s Scoll
	return keysOf(s.settings("")), keysOf(s.Admin.settings(""))
}

// RmcastKeys returns the keys of the section rmcast, and those of a group in it.
func RmcastKeys() (keys, ofGroup []string) {
	return keysOf(new(Rmcast).settings("")), keysOf(new(McastGroup).settings())
}
