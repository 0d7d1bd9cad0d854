package node

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/lnet/router"
)

// wantedTree returns what a configuration, with the file that it imports, wants the node to have:
// networks, peers, routes, rules and settings.
func wantedTree(l *config.Loaded) (*tree.Tree, error) {
	c := l.Config
	if err := c.ResolveNetworks(LocalAddresses); err != nil {
		return nil, err
	}
	t, err := c.Tree()
	if err != nil {
		return nil, err
	}
	if l.Imported != nil {
		t.Merge(l.Imported)
	}
	if valuesOf(t.Global)["health_sensitivity"] == 0 { // LNet then resends no messages: the node sets retry_count to 0, see HealthSettings
		t.Global.Set(tree.Setting{Name: "retry_count"})
	}
	return t, nil
}

// withoutOwn removes the routes whose gateway is one of this node's own NIDs from a configuration. A list
// of routes for all nodes of a cluster has such routes. This node does not use them, but they make it a
// router, unless forwarding is disabled.
func withoutOwn(t *tree.Tree, l *config.Loaded, own []nid.NID) {
	others := slices.DeleteFunc(slices.Clone(t.Route), func(r tree.Route) bool { return slices.Contains(own, r.Gateway) })
	if len(others) < len(t.Route) && l.Forwarding != "disabled" {
		t.Routing = &tree.Routing{Enable: new(1)}
	}
	t.Route = others
}

// RunTime lists the settings that commands have changed since the start, compared with the
// configuration: keys of lnetd's file with the values that the node has.
func (n *Node) RunTime(l *config.Loaded) ([]config.Source, error) {
	want, err := wantedTree(l)
	if err != nil {
		return nil, err
	}
	withoutOwn(want, l, n.NIDs())
	now, err := n.Editor().Tree(context.Background())
	if err != nil {
		return nil, err
	}
	r := changed{now: now, want: want}
	r.want.Route = n.usable(r.want.Route)
	r.networks()
	r.lists()
	r.settings()
	r.router(n.lnet.Router().Config, buffersOf(l, want))
	return r.list, nil
}

// usable returns those routes of a list that this node uses: routes to networks that the node is not on,
// by gateways on networks that it is on.
func (n *Node) usable(list []tree.Route) []tree.Route {
	var own []nid.NID
	for _, id := range n.table.Node().IDs() {
		own = append(own, id.NID)
	}
	b := new(route.Table).Batch(own, rand.New(rand.NewPCG(0, 0))) // the order of routes has no meaning here
	return slices.DeleteFunc(slices.Clone(list), func(r tree.Route) bool {
		v, err := r.Value()
		return err != nil || b.Add(v) != nil
	})
}

// changed collects the settings in which a running node differs from its configuration.
type changed struct {
	now, want *tree.Tree
	list      []config.Source
}

func (r *changed) add(key, value string) {
	r.list = append(r.list, config.Source{Key: key, Value: value, From: config.RunTime})
}

// networks compares the NIs.
func (r *changed) networks() {
	var running []string
	wanted := map[*tree.NI]bool{} // keys: the running NIs that the configuration has, too
	missing := false
	for _, net := range r.want.Net {
		for _, ni := range net.NIs {
			if net.Type == tree.Loopback {
				continue
			}
			on := r.now.RunsOn(net.Type, ni)
			missing = missing || on == nil
			wanted[on] = true
		}
	}
	for _, net := range r.now.Net {
		for i := range net.NIs {
			if net.Type == tree.Loopback {
				continue
			}
			missing = missing || !wanted[&net.NIs[i]]
			running = append(running, fmt.Sprintf("%s(%s)", net.Type, tree.AddrText(net.NIs[i].NID)))
		}
	}
	if missing {
		r.add("networks", strings.Join(running, ","))
	}
}

// lists compares routes, peers and rules.
func (r *changed) lists() {
	for _, one := range []struct {
		key string
		of  func(*tree.Tree) []string
	}{{"routes", routeTexts}, {"peer", peerTexts}, {"udsp", ruleTexts}} {
		if has := one.of(r.now); !slices.Equal(has, one.of(r.want)) {
			r.add(one.key, "["+strings.Join(has, ", ")+"]")
		}
	}
}

// routeTexts returns the routes as entries of the key routes, in order.
func routeTexts(t *tree.Tree) (list []string) {
	for _, r := range t.Route {
		if v, err := r.Value(); err == nil {
			list = append(list, v.String())
		}
	}
	slices.Sort(list)
	return list
}

// peerTexts returns the configured peers with their NIDs, in order.
func peerTexts(t *tree.Tree) (list []string) {
	for _, p := range t.Peer {
		if !p.IsConfigured() {
			continue
		}
		ids := idsOf(p)
		slices.SortFunc(ids[1:], nid.NID.Compare)
		list = append(list, strings.Trim(fmt.Sprint(ids), "[]"))
	}
	slices.Sort(list)
	return list
}

// ruleTexts returns the selection rules, in their order.
func ruleTexts(t *tree.Tree) (list []string) {
	for _, u := range t.UDSP {
		r, err := u.Value()
		if err != nil {
			continue
		}
		text := ""
		for _, p := range []struct{ name, text string }{{"src", r.Src.String()}, {"dst", r.Dst.String()}, {"rte", r.Rte.String()}} {
			if p.text != "" {
				text += p.name + ": " + p.text + ", "
			}
		}
		list = append(list, fmt.Sprintf("{%spriority: %d}", text, r.Priority))
	}
	return list
}

// settings compares the settings of the section global.
func (r *changed) settings() {
	has := valuesOf(r.now.Global)
	for name, want := range valuesOf(r.want.Global) {
		i := slices.IndexFunc(tree.NodeSettings(), func(s tree.NodeSetting) bool { return s.Name == name })
		if i < 0 || has[name] == want {
			continue
		}
		s := tree.NodeSettings()[i]
		value := has[name]
		if s.Inverse {
			value = 1 - value
		}
		r.add(s.Key, fmt.Sprint(value))
	}
	slices.SortFunc(r.list, func(a, b config.Source) int { return strings.Compare(a.Key, b.Key) })
}

// valuesOf returns the settings by their names in the section global.
func valuesOf(g *tree.Global) map[string]int64 {
	all := map[string]int64{}
	for _, s := range g.Settings() {
		all[s.Name] = s.Value
	}
	return all
}

// router compares whether the node forwards messages, and its buffers.
func (r *changed) router(has, want router.Config) {
	if on := r.now.Routing != nil && r.now.Routing.IsRouter(); on != (r.want.Routing != nil && r.want.Routing.IsRouter()) {
		r.add("routing.enable", fmt.Sprint(oneIf(on)))
	}
	for _, one := range []struct {
		key       string
		has, want int
	}{{"routing.tiny", has.Tiny, want.Tiny}, {"routing.small", has.Small, want.Small}, {"routing.large", has.Large, want.Large}} {
		if one.has != one.want {
			r.add(one.key, fmt.Sprint(one.has))
		}
	}
}
