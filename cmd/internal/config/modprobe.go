package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Warning is about a line of a file that has no effect.
type Warning struct {
	File string // path of the file
	Line int    // line, counted from 1
	Text string // the part of that line that has no effect
}

func (w Warning) String() string { return fmt.Sprintf("%s:%d: %s", w.File, w.Line, w.Text) }

// Source says where the value of a setting comes from.
type Source struct {
	Key   string // key of lnetd's file, such as networks
	Value string // text of the value
	From  string // file and line, such as /etc/modprobe.d/lustre.conf:3
}

// kernelOnly are options of Lustre's modules that have a meaning only in a kernel.
var kernelOnly = map[string]string{
	"lnet": "config_on_load rnet_htable_size auto_down portal_rotor local_nid_dist_zero lock_prim_nid " +
		"use_tcp_bonding dead_router_check_interval live_router_check_interval large_router_buffers_max lnet_lnd_timeout",
	"ksocklnd": "eager_ack nonblk_zcack zc_min_payload zc_recv zc_recv_min_nfrags nscheds nconnds nconnds_max peer_timeout_min irq_affinity " +
		"backoff_init backoff_max skip_mr_route_setup local_ack",
	"ko2iblnd": "nscheds ipif_name dev_failover use_fastreg_gaps pmr_pool_size",
}

// routerBuffers maps the options of the module lnet for router buffers to keys of the section routing.
var routerBuffers = map[string]string{"tiny_router_buffers": "tiny", "small_router_buffers": "small", "large_router_buffers": "large"}

// emptyMeansDefault are the options that kernels ignore if they are empty.
var emptyMeansDefault = []string{"networks", "ip2nets", "routes", "forwarding"}

// readModprobe reads the options of the modules lnet, ksocklnd and ko2iblnd from a file of
// modprobe.d, or from the files *.conf of such a directory. The function read reads one file. If an option
// occurs more than once, the last one wins. readModprobe warns of options that have no meaning here, and of
// options that neither ulnet nor Lustre knows. A value that does not fit is an error, as it is for modprobe.
func (c *Config) readModprobe(path string, read func(string) ([]byte, error)) (sources []Source, warnings []Warning, err error) {
	options, err := readModprobe(path, read, map[string]bool{"lnet": true, "ksocklnd": true, "ko2iblnd": true})
	if err != nil {
		return nil, nil, err
	}
	networks := 0 // number of options networks and ip2nets
	for _, o := range options {
		if o.value == "" && slices.Contains(emptyMeansDefault, o.name) {
			continue
		}
		put, key, warning := c.moduleSetting(o)
		if warning != "" {
			warnings = append(warnings, Warning{o.file, o.line, warning})
			continue
		}
		if err := put(o.value); err != nil {
			return nil, nil, &Error{File: o.file, Line: o.line, Column: 1, Err: fmt.Errorf("options %s %s: %w", o.module, o.name, err)}
		}
		if o.name == "networks" || o.name == "ip2nets" {
			networks++
		}
		sources = append(sources, Source{key, o.value, fmt.Sprintf("%s:%d", o.file, o.line)})
	}
	if networks > 1 && c.IP2Nets != "" && slices.ContainsFunc(options, func(o moduleOption) bool { return o.name == "networks" }) {
		return nil, nil, &Error{File: path, Err: errors.New("options lnet networks and ip2nets exclude each other: leave one out")}
	}
	return sources, warnings, c.check(path)
}

// moduleSetting returns a function that sets the value of an option, and the key of lnetd's file
// for it. If there is no such key, it returns a warning.
func (c *Config) moduleSetting(o moduleOption) (put func(value string) error, key, warning string) {
	if slices.Contains(strings.Fields(kernelOnly[o.module]), o.name) {
		return nil, "", fmt.Sprintf("options %s: %s has no meaning here", o.module, o.name)
	}
	settings, section := c.moduleSettings(o.module), map[string]string{"ko2iblnd": "o2ib."}[o.module]
	key = o.name
	if buffers := routerBuffers[o.name]; buffers != "" && o.module == "lnet" {
		settings, section, key = c.Routing.settings(), "routing.", buffers
	}
	s, ok := settings[key]
	if !ok {
		return nil, "", fmt.Sprintf("options %s: unknown option %q", o.module, o.name)
	}
	return func(value string) error {
		if o.module == "ksocklnd" {
			c.keepForRDMA(o.name)
		}
		return putText(s, value)
	}, section + key, ""
}

// moduleSettings are the settings that a module has.
func (c *Config) moduleSettings(module string) map[string]setting {
	switch module {
	case "ko2iblnd":
		return o2ibSettings(&c.O2IB)
	case "ksocklnd":
		all := tunableSettings(c.TCP.Tunables())
		own := c.settings("")
		for _, name := range []string{"peer_timeout", "peer_credits", "peer_buffer_credits", "credits"} {
			all[name] = own[name]
		}
		return all
	}
	all, own := map[string]setting{}, c.settings("")
	for _, name := range strings.Fields("networks ip2nets routes forwarding accept accept_port accept_backlog accept_timeout check_routers_before_use " +
		"avoid_asym_router_failure alive_router_check_interval router_ping_timeout router_sensitivity_percentage peer_buffer_credits") {
		all[name] = own[name]
	}
	maps.DeleteFunc(own, func(name string, _ setting) bool { return !strings.HasPrefix(name, "lnet_") })
	maps.Copy(all, own)
	return all
}

// keepForRDMA protects the networks over RDMA from an option of ksocklnd. Such an option is
// stored in a setting that applies to all networks, so keepForRDMA first copies the setting's
// present value to the section o2ib.
func (c *Config) keepForRDMA(name string) {
	switch own := &c.O2IB; name {
	case "peer_timeout":
		own.PeerTimeout = cmp.Or(own.PeerTimeout, c.PeerTimeout)
	case "peer_credits":
		own.PeerCredits = cmp.Or(own.PeerCredits, c.PeerCredits)
	case "peer_buffer_credits":
		own.PeerBufferCredits = cmp.Or(own.PeerBufferCredits, c.PeerBufferCredits)
	case "credits":
		own.Credits = cmp.Or(own.Credits, c.Credits)
	}
}

// putText gives a setting the text of an option: a number, Y or N, or any text.
func putText(s setting, text string) error {
	switch n, err := strconv.ParseInt(text, 0, 64); {
	case err == nil:
		if numberErr := putYAML(s, strconv.FormatInt(n, 10)); numberErr == nil {
			return nil
		}
	case text == "Y" || text == "y":
		return putYAML(s, "true")
	case text == "N" || text == "n":
		return putYAML(s, "false")
	}
	if plainWord().MatchString(text) && !slices.Contains(yamlWords, strings.ToLower(text)) {
		return putYAML(s, text) // written without quotation marks, because an error puts the text in quotation marks itself
	}
	return putYAML(s, strconv.Quote(text))
}

// plainWord matches text that needs no quotation marks in YAML, except the words in yamlWords.
var (
	plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`) })
	yamlWords = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
)

// putYAML gives a setting a value in YAML.
func putYAML(s setting, value string) error {
	file, err := parser.ParseBytes([]byte("value: "+value), 0)
	if err != nil {
		return err
	}
	entries, err := mapping("", file.Docs[0].Body)
	if err != nil {
		return err
	}
	if len(entries) != 1 {
		return errors.New("want one value")
	}
	var node ast.Node = entries[0].Value
	return s.put(node)
}
