package rmcast_test

import (
	"errors"
	"strings"
	"testing"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
)

// TestMistakes: wrong arguments of Join and Manage give an error that says what to change. They
// have no effect: the right call works afterwards.
func TestMistakes(t *testing.T) {
	a := newRing(t, 1).ends[0].agent
	self := nid.FromNumber(nid.MakeNet(nid.GNI, 0), 1)
	handle := func(*rmcast.Message) {}
	join := func(id rmcast.GroupID, handle func(*rmcast.Message)) error {
		_, err := a.Join(rmcast.GroupConfig{Group: id, Handle: handle})
		return err
	}
	manage := func(id rmcast.GroupID, managers ...nid.NID) error {
		return a.Manage(rmcast.ManagerConfig{Group: id, Managers: managers})
	}
	other := nid.FromNumber(nid.MakeNet(nid.GNI, 0), 2)
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"join without a handler":     {join(group+1, nil), "Handle"},
		"join group 0":               {join(0, handle), "1 to 65535"},
		"join group 65536":           {join(65536, handle), "1 to 65535"},
		"manage group 0":             {manage(0, self), "1 to 65535"},
		"manage group 65536":         {manage(65536, self), "1 to 65535"},
		"manage with other managers": {manage(group+1, other), "Managers"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.says) || errors.Is(c.err, rmcast.ErrTaken) {
			t.Errorf("%s: %v, want an error that names %s", name, c.err, c.says)
		}
	}
	for _, id := range []rmcast.GroupID{1, group + 1, 65535} {
		if err := errors.Join(manage(id, other, self), join(id, handle)); err != nil {
			t.Errorf("group %d: %v", id, err)
		}
	}
}

// TestOneAgent: a second agent on a node would take the messages of the first one. It fails to
// start, and the first one goes on. When the first one is closed another one can start.
func TestOneAgent(t *testing.T) {
	r := newRing(t, 2)
	e := r.ends[1]
	if a, err := rmcast.New(e.table, rmcast.Config{}); !errors.Is(err, rmcast.ErrTaken) {
		if err == nil {
			_ = a.Close(t.Context())
		}
		t.Errorf("a second agent: %v", err)
	}
	if _, err := r.ends[0].group.Send(t.Context(), []byte("x")); err != nil || e.got != 1 {
		t.Errorf("%v, the first agent got %d messages", err, e.got)
	}
	_ = e.agent.Close(t.Context())
	a, err := rmcast.New(e.table, rmcast.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Close(t.Context())
}
