package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/lnd/fault"
	"ulnet/lnet/router"
)

// settings changes the settings of the section global. Those of health are changed together,
// because their bounds depend on each other.
func (r *reload) settings() {
	was, will := valuesOf(r.was.Global), valuesOf(r.will.Global)
	health := map[string]int{}
	var keys, texts []string
	for _, s := range tree.NodeSettings() {
		if was[s.Name] == will[s.Name] {
			continue
		}
		text := fmt.Sprintf("%s: %d -> %d", s.Name, was[s.Name], will[s.Name])
		if HealthSettings[s.Name] != nil {
			health[s.Name] = int(will[s.Name])
			keys, texts = append(keys, s.Key), append(texts, text)
			continue
		}
		r.add(s.Key, text, r.set(Setting{Name: s.Name, Value: int(will[s.Name])}))
	}
	if len(health) > 0 {
		r.add(keys[0], strings.Join(texts, ", "), r.setHealth(health))
	}
}

// set changes a setting that depends on no other one.
func (r *reload) set(s Setting) func(context.Context) (func(context.Context) error, error) {
	return func(context.Context) (func(context.Context) error, error) {
		before := Setting{Name: s.Name, Value: int(valuesOf(GlobalTree(r.n.Status()))[s.Name])}
		return func(context.Context) error { return r.n.Set(before) }, r.n.Set(s)
	}
}

// setHealth changes settings of health. It sets the sensitivity first, because sensitivity 0 sets the retry
// count to 0, too. What commands set meanwhile stays if the change is taken back.
func (r *reload) setHealth(to map[string]int) func(context.Context) (func(context.Context) error, error) {
	return func(context.Context) (func(context.Context) error, error) {
		now := valuesOf(GlobalTree(r.n.Status()))
		r.n.changing.Lock()
		defer r.n.changing.Unlock()
		before, next := map[string]int{}, r.n.lnet.Health()
		if v, ok := to["health_sensitivity"]; ok {
			HealthSettings["health_sensitivity"](&next, v)
		}
		for name, v := range to {
			before[name] = int(now[name])
			if name != "health_sensitivity" {
				HealthSettings[name](&next, v)
			}
		}
		back := func(ctx context.Context) error { _, err := r.setHealth(before)(ctx); return err }
		return back, r.n.lnet.SetHealth(next)
	}
}

// router changes the numbers of router buffers, and whether the node is a router.
func (r *reload) router() {
	was, will := buffersOf(r.from, r.was), buffersOf(r.to, r.will)
	if was != will {
		r.add("routing."+firstOf(was, will), "router buffers", r.buffers(was, will))
	}
	isRouter := func(t *tree.Tree) bool { return t.Routing != nil && t.Routing.IsRouter() }
	if on := isRouter(r.will); on != isRouter(r.was) {
		r.add("routing.enable", fmt.Sprintf("routing: %d", oneIf(on)), func(context.Context) (func(context.Context) error, error) {
			return func(context.Context) error { return r.n.setRouting(!on) }, r.n.setRouting(on)
		})
	}
}

// buffers changes the numbers of router buffers that differ between two configurations.
func (r *reload) buffers(was, will router.Config) func(context.Context) (func(context.Context) error, error) {
	return func(context.Context) (func(context.Context) error, error) {
		before, err := r.n.changeBuffers(was, will)
		return func(context.Context) error { _, err := r.n.changeBuffers(will, before); return err }, err
	}
}

// changeBuffers sets the fields that differ between two configurations, and returns the configuration
// that the router had before the change.
func (n *Node) changeBuffers(from, to router.Config) (before router.Config, err error) {
	n.changing.Lock()
	defer n.changing.Unlock()
	before = n.lnet.Router().Config
	next := before
	for _, f := range []struct {
		set      *int
		was, now int
	}{{&next.Tiny, from.Tiny, to.Tiny}, {&next.Small, from.Small, to.Small}, {&next.Large, from.Large, to.Large}, {&next.Memory, from.Memory, to.Memory}} {
		if f.was != f.now {
			*f.set = f.now
		}
	}
	return before, n.lnet.SetRouterBuffers(next)
}

// firstOf names the first number of buffers that differs.
func firstOf(a, b router.Config) string {
	switch {
	case a.Tiny != b.Tiny:
		return "tiny"
	case a.Small != b.Small:
		return "small"
	case a.Large != b.Large:
		return "large"
	}
	return "memory"
}

// buffersOf returns the router buffers of a configuration, with those of the file that it imports.
func buffersOf(l *config.Loaded, t *tree.Tree) router.Config {
	c := l.Routing.Buffers()
	if b := t.Buffers; b != nil {
		for _, one := range []struct{ from, to *int }{{b.Tiny, &c.Tiny}, {b.Small, &c.Small}, {b.Large, &c.Large}} {
			if one.from != nil {
				*one.to = *one.from
			}
		}
	}
	return c.WithDefaults()
}

// faults ends the faults that the new configuration does not have, and injects new ones.
func (r *reload) faults(was, will []string) {
	for _, text := range less(was, will) {
		r.add("faults", "end fault "+text, func(context.Context) (func(context.Context) error, error) {
			return func(context.Context) error { return r.n.givenFault(text) }, r.n.endGiven(text)
		})
	}
	for _, text := range less(will, was) {
		r.add("faults", "inject fault "+text, func(context.Context) (func(context.Context) error, error) {
			return func(context.Context) error { return r.n.endGiven(text) }, r.n.givenFault(text)
		})
	}
}

// less returns the texts of a that b does not have, or has less often.
func less(a, b []string) (list []string) {
	b = slices.Clone(b)
	for _, text := range a {
		if i := slices.Index(b, text); i >= 0 {
			b = slices.Delete(b, i, i+1)
		} else {
			list = append(list, text)
		}
	}
	return list
}

// givenFault injects a fault of the configuration.
func (n *Node) givenFault(text string) error {
	added, err := n.AddFault(AddFault{text})
	if err == nil && added.ID != 0 {
		n.given[text] = append(n.given[text], added.ID)
	}
	return err
}

// endGiven ends a fault of the configuration, if no command has ended it.
func (n *Node) endGiven(text string) error {
	s, err := fault.ParseStatement(text)
	if err != nil {
		return err
	}
	if s.Once() != "" {
		return n.EndFault(EndFault{Partition: s.Once() == "partition", Pause: s.Once() == "pause"})
	}
	ids := n.given[text]
	if len(ids) == 0 {
		return nil
	}
	n.given[text] = ids[1:]
	if err = n.EndFault(EndFault{Rule: ids[0]}); errors.Is(err, syscall.ENOENT) {
		return nil
	}
	return err
}
