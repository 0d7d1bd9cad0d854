package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"ulnet/gossip/engine"
	"ulnet/gossip/zone"
	zoneengine "ulnet/gossip/zone/engine"
	"ulnet/health"
	healthengine "ulnet/health/engine"
	healthwire "ulnet/health/wire"
)

// MaxHandlers bounds the handlers of a node: each may run a program at the same time.
const MaxHandlers = 64

// Handler is an entry of the section handlers: a program that runs when something
// happens. The comment of each field begins with its key.
type Handler struct {
	Name     string        // name of the handler: its key
	On       []string      // on: selectors of events, see [SelectsEvent]
	OnAt     Position      // position of the selectors in the file
	Run      []string      // run: path of the program, and its arguments
	Timeout  time.Duration // timeout: longest time of a run; then the program gets SIGTERM
	Interval time.Duration // interval: least time between the starts of two runs
	User     string        // user: user as which the program runs; empty: the user of lnetd
	UserAt   Position      // position of the user in the file
}

// The sources of events, as events and selectors name them.
const (
	GossipSource = "gossip"
	ZoneSource   = "zone"
	HealthSource = "health"
)

// SelectsEvent reports whether a selector selects an event. An event is written SOURCE.EVENT or
// SOURCE.EVENT.CAUSE; a selector is the same, or the beginning of it up to a dot.
func SelectsEvent(selector, event string) bool {
	rest, ok := strings.CutPrefix(event, selector)
	return ok && (rest == "" || rest[0] == '.')
}

// EventNames returns the selectors that name a single event, as SOURCE.EVENT or
// SOURCE.EVENT.CAUSE: first those of gossip, then those of the zone, then those of client health.
func EventNames() []string {
	var list []string
	add := func(source string, names []string, causes map[string][]string) {
		for _, n := range names {
			list = append(list, source+"."+n)
			for _, c := range causes[n] {
				list = append(list, source+"."+n+"."+c)
			}
		}
	}
	add(GossipSource, engine.EventNames(), nil)
	add(ZoneSource, zoneengine.EventNames(), map[string][]string{zone.Left.String(): zoneengine.CauseNames()})
	ofHealth := append(healthengine.EventNames(), healthengine.ClientEventNames()...)
	slices.Sort(ofHealth)
	add(HealthSource, slices.Compact(ofHealth), map[string][]string{
		health.ClientEvicted.String(): healthwire.CauseNames(), health.ClientSuspended.String(): healthwire.CauseNames(),
	})
	return list
}

// checkSelector refuses a selector that selects nothing.
func checkSelector(s string) error {
	all := EventNames()
	if slices.ContainsFunc(all, func(event string) bool { return SelectsEvent(s, event) }) {
		return nil
	}
	// The error lists the words that can follow the correct part of the selector, or else the
	// sources.
	parent := s
	for {
		at := strings.LastIndexByte(parent, '.')
		if at < 0 {
			return fmt.Errorf("no event %q: want %s, %s or %s, with the name of an event behind it, such as zone.left", s, GossipSource, ZoneSource, HealthSource)
		}
		parent = parent[:at]
		if next := below(all, parent); len(next) > 0 {
			return fmt.Errorf("no event %q: %s has %s", s, parent, strings.Join(next, ", "))
		}
	}
}

// below returns the words that can follow a selector.
func below(all []string, selector string) (next []string) {
	for _, event := range all {
		if rest, ok := strings.CutPrefix(event, selector+"."); ok {
			word, _, _ := strings.Cut(rest, ".")
			if !slices.Contains(next, word) {
				next = append(next, word)
			}
		}
	}
	return next
}

func (h *Handler) settings() map[string]setting {
	return map[string]setting{
		"on": {func(value ast.Node) error {
			return entries(value, "events, such as gossip.died,", func(s string) error {
				h.On = append(h.On, s)
				return checkSelector(s)
			})
		}},
		"run":      {h.takeProgram},
		"timeout":  span(&h.Timeout, 10*time.Millisecond, time.Hour),
		"interval": span(&h.Interval, 100*time.Millisecond, time.Hour),
		"user":     text(&h.User, nil),
	}
}

// takeProgram parses a program and its arguments. Programs run in the folder /, so a relative
// path would be a mistake and is refused.
func (h *Handler) takeProgram(value ast.Node) error {
	if err := arguments(&h.Run).put(value); err != nil {
		return err
	}
	if len(h.Run) == 0 {
		return errors.New("the program is missing")
	}
	if p := h.Run[0]; !filepath.IsAbs(p) && p != filepath.Base(p) {
		return fmt.Errorf("%s: want an absolute path, or the name of a program in PATH", p)
	}
	return nil
}

// handlerSection parses the section of a file: handlers by their names.
func handlerSection(to *[]Handler, file string) setting {
	return setting{func(value ast.Node) error {
		return named(file, value, func(name string, entries []*ast.MappingValueNode) error {
			h := Handler{Name: name, Timeout: 30 * time.Second, Interval: time.Second}
			if err := assign(h.settings(), file, entries); err != nil {
				return err
			}
			at := positionsOf(entries)
			h.OnAt = positionOf(file, at["on"])
			if h.User != "" {
				h.UserAt = positionOf(file, at["user"])
			}
			switch {
			case len(h.Run) == 0:
				return fmt.Errorf("handler %s: run is missing", name)
			case len(h.On) == 0:
				return fmt.Errorf("handler %s: on is missing: a list of events, such as [zone.left]", name)
			case len(*to) == MaxHandlers:
				return fmt.Errorf("handler %s: there are %d already", name, MaxHandlers)
			}
			*to = append(*to, h)
			return nil
		})
	}}
}

// checkHandlers refuses handlers of events that cannot happen here: those of zones or client health if the node
// does not take part in these. It accepts handlers for gossip in any case, because a command can start gossip later.
func (c *Config) checkHandlers() error {
	for i := range c.Handlers {
		h := &c.Handlers[i]
		for _, s := range h.On {
			source, _, _ := strings.Cut(s, ".")
			switch {
			case source == ZoneSource && !c.Zone.Enabled():
				return h.OnAt.Wrap(fmt.Errorf("handler %s: on: %s: this node is in no zone: set name in the section zone", h.Name, s))
			case source == HealthSource && !c.Health.Enabled():
				return h.OnAt.Wrap(fmt.Errorf("handler %s: on: %s: this node has no part in client health: set server or client in the section health", h.Name, s))
			}
		}
	}
	return nil
}
