package config

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/goccy/go-yaml/ast"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/drivers"
	"ulnet/lnet/networks"
	"ulnet/lnet/route"
)

// Sections are those parts of lnetd's configuration file that have the format of lnetctl's
// files. lnetd accepts this format because its other keys cannot say everything about a
// network, a peer or a route.
type Sections struct {
	Net   []tree.Net    // net: networks and their NIs
	Peer  []tree.Peer   // peer: configured peers
	Route []route.Route // route: routes
}

// sectionSettings returns the keys that are sections of lnetctl's files.
func (c *Config) sectionSettings(file string) map[string]setting {
	all := map[string]setting{}
	for _, key := range []string{"net", "peer", "route", "global", "buffers"} {
		all[key] = setting{func(value ast.Node) error { return c.section(file, key, value) }}
	}
	return all
}

// section reads a section as 'lnetctl import' does, but refuses unknown keys.
func (c *Config) section(file, key string, value ast.Node) error {
	s, err := tree.ReadSection(key, value)
	for i := 0; err == nil && i < len(s.Items); i++ {
		if bad := c.take(s.Items[i]); bad != nil {
			err = &tree.Error{Line: s.Items[i].Line, Text: bad.Error(), Errno: syscall.EINVAL}
		}
	}
	if bad, ok := errors.AsType[*tree.Error](err); ok {
		return &Error{File: file, Line: bad.Line, Err: fmt.Errorf("%s: %s", key, bad.Text)}
	}
	return err
}

// take puts an item of a section into the configuration.
func (c *Config) take(i tree.Item) error {
	switch {
	case i.Net != nil:
		return c.takeNet(i.Net)
	case i.Peer != nil:
		c.Sections.Peer = append(c.Sections.Peer, *i.Peer)
	case i.Route != nil:
		r, err := i.Route.Value()
		c.Sections.Route = append(c.Sections.Route, r)
		return err
	case i.Setting != nil:
		return c.setGlobal(*i.Setting)
	case i.Buffers != nil:
		return c.Routing.takeBuffers(i.Buffers)
	case i.Routing != nil:
		c.Routing.Enable = i.Routing.IsRouter()
	}
	return nil
}

// takeNet adds a network of the file to c. The network has at most one NI; if it has none, it gets one with
// the default settings.
func (c *Config) takeNet(n *tree.Net) error {
	if n.Type == tree.Loopback { // skipped, because every node has the loopback network
		return nil
	}
	if len(n.NIs) == 0 {
		n.NIs = []tree.NI{{}}
	}
	ni := n.NIs[0]
	on, err := ni.On(n.Type)
	if err != nil {
		return err
	}
	if on.Name == "" {
		return cli.Errnof(syscall.EINVAL, "an NI on %s needs an interface or a NID", n.Type)
	}
	if _, err := networks.Parse(on.String()); err != nil {
		return err
	}
	if _, _, err := drivers.Own(c.Of(on.Net.Type()), ni.LND.Numbers()); err != nil {
		return err
	}
	c.Sections.Net = append(c.Sections.Net, *n)
	return nil
}

// takeBuffers sets the numbers of router buffers that b has.
func (r *Routing) takeBuffers(b *tree.Buffers) error {
	for _, one := range []struct {
		name string
		from *int
		to   *int
	}{{"tiny", b.Tiny, &r.Tiny}, {"small", b.Small, &r.Small}, {"large", b.Large, &r.Large}} {
		if one.from == nil {
			continue
		}
		if *one.from < 0 || *one.from > maxCount {
			return fmt.Errorf("%s: want a whole number from 0 to %d, not %d", one.name, maxCount, *one.from)
		}
		*one.to = *one.from
	}
	return nil
}

// exclusive are pairs of keys that set the same thing in two ways.
var exclusive = [][2]string{{"networks", "ip2nets"}, {"networks", "net"}, {"ip2nets", "net"}}

// checkTwice refuses a file that sets the same thing in two ways.
func (c *Config) checkTwice(name string, entries []*ast.MappingValueNode) error {
	at := make(map[string]*ast.MappingValueNode)
	for _, e := range entries {
		at[e.Key.GetToken().Value] = e
	}
	for _, keys := range exclusive {
		if one, other := at[keys[0]], at[keys[1]]; one != nil && other != nil && !isEmpty(one.Value) && !isEmpty(other.Value) {
			return errorAt(name, one.Key.GetToken(), fmt.Errorf("%s and %s exclude each other: leave one out", keys[0], keys[1]))
		}
	}
	if both := at["buffers"]; both != nil && !isEmpty(both.Value) {
		for _, e := range entriesOf(name, at["routing"]) {
			if key := e.Key.GetToken(); key.Value == "tiny" || key.Value == "small" || key.Value == "large" {
				return errorAt(name, key, fmt.Errorf("routing.%s and buffers exclude each other: leave one out", key.Value))
			}
		}
	}
	return checkGlobalTwice(name, at)
}

// entriesOf returns the entries of a section; nil: it is absent, or has another form.
func entriesOf(name string, section *ast.MappingValueNode) []*ast.MappingValueNode {
	if section == nil {
		return nil
	}
	entries, _ := mapping(name, section.Value) // entries is empty if the value has another form
	return entries
}

// checkGlobalTwice refuses a setting that is in the section global and is also set by a key of
// its own.
func checkGlobalTwice(name string, at map[string]*ast.MappingValueNode) error {
	for _, e := range entriesOf(name, at["global"]) {
		for _, s := range tree.NodeSettings() {
			if flat := at[s.Key]; flat != nil && s.Name == e.Key.GetToken().Value {
				return errorAt(name, flat.Key.GetToken(), fmt.Errorf("%s is %s in the section global: leave one out", s.Key, s.Name))
			}
		}
	}
	return nil
}

// isEmpty reports whether a value is "", [] or {}, which is as if the key were absent.
func isEmpty(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value == ""
	case *ast.SequenceNode:
		return len(n.Values) == 0
	case *ast.MappingNode:
		return len(n.Values) == 0
	}
	return false
}

// Nets returns the networks to start: those of the key networks, and those of the section net.
func (c *Config) Nets() ([]tree.Net, error) {
	list, err := networks.Parse(c.Networks)
	if err != nil {
		return nil, err
	}
	nets := make([]tree.Net, 0, len(list)+len(c.Sections.Net))
	for _, i := range list {
		nets = append(nets, tree.NetOf(i))
	}
	return append(nets, c.Sections.Net...), nil
}

// AllRoutes returns the routes of the key routes, and those of the section route.
func (c *Config) AllRoutes() ([]route.Route, error) {
	list, err := route.Parse(c.Routes.Routes)
	return append(list, c.Sections.Route...), err
}

// Tree returns the configuration in the form of lnetctl's files.
func (c *Config) Tree() (*tree.Tree, error) {
	nets, err := c.Nets()
	if err != nil {
		return nil, err
	}
	routes, err := c.AllRoutes()
	if err != nil {
		return nil, err
	}
	t := &tree.Tree{Net: nets, Peer: c.Sections.Peer, Global: c.Global(), Routing: &tree.Routing{Enable: new(0)}}
	if c.IsRouter() {
		t.Routing.Enable = new(1)
	}
	if r := c.Routing; r.Tiny+r.Small+r.Large > 0 {
		t.Buffers = &tree.Buffers{Tiny: &r.Tiny, Small: &r.Small, Large: &r.Large}
	}
	for _, r := range routes {
		t.Route = append(t.Route, tree.RouteOf(r))
	}
	for i, r := range c.UDSP {
		t.UDSP = append(t.UDSP, tree.UDSPOf(i, r))
	}
	return t, nil
}
