package node

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/statefiles"
	"ulnet/lnd/lndtest/spec"
)

// noted is a module that records which of its methods are called.
type noted struct {
	name  string
	notes *[]string
}

func (m *noted) Open() error {
	*m.notes = append(*m.notes, "open "+m.name)
	return nil
}

func (m *noted) Close(context.Context) error {
	*m.notes = append(*m.notes, "close "+m.name)
	return nil
}

func (m *noted) Routes() []control.Route   { return nil }
func (m *noted) Files() *statefiles.Config { return nil }
func (m *noted) Keys() *Keys               { return &Keys{Section: m.name, Count: func(*KeysStatus) {}} }

// TestModuleOrder: modules are closed in the reverse of the order in which they are opened.
// Keys are shown in a fixed order of their sections, with the keys of sections that this order
// lacks at the end.
func TestModuleOrder(t *testing.T) {
	var notes []string
	cfg := config.Default()
	cfg.Networks = "lo"
	n, err := New(Config{Config: cfg, Modules: func(Host) (list []Module) {
		for _, name := range []string{"other", "gossip", "zone", "rmcast", "scoll", "health"} {
			list = append(list, &noted{name, &notes})
		}
		return list
	}})
	if err != nil {
		t.Fatal(err)
	}
	var sections []string
	for _, k := range n.Keys() {
		sections = append(sections, k.Section)
	}
	if err := n.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if want := []string{"gossip", "zone", "scoll", "rmcast", "health", "other"}; !slices.Equal(sections, want) {
		t.Errorf("keys of %q, want %q", sections, want)
	}
	want := []string{
		"open other", "open gossip", "open zone", "open rmcast", "open scoll", "open health",
		"close health", "close scoll", "close rmcast", "close zone", "close gossip", "close other",
	}
	if !slices.Equal(notes, want) {
		t.Errorf("%q, want %q", notes, want)
	}
}

// deaf is a module whose Close ignores its context.
type deaf struct {
	noted
	stuck chan struct{}
}

func (m *deaf) Close(context.Context) error {
	<-m.stuck
	return nil
}

// TestStuckModule: OP-93: a module that does not close does not prevent other modules from closing, and the
// error names the stuck module.
func TestStuckModule(t *testing.T) {
	spec.Covers(t, "OP-93")
	var notes []string
	cfg := config.Default()
	cfg.Networks = "lo"
	stuck := make(chan struct{})
	defer close(stuck)
	n, err := New(Config{Config: cfg, Modules: func(Host) []Module {
		return []Module{&noted{"first", &notes}, &deaf{noted{"deaf", &notes}, stuck}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- n.Shutdown(ctx) }()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "*node.deaf") || notes[len(notes)-1] != "close first" {
			t.Errorf("%v after %q", err, notes)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Shutdown waits for a module that does not close")
	}
}
