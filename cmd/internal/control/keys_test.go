package control

import (
	"errors"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

type fakeKeys struct {
	list    []node.KeysStatus
	reloads int
	err     error
}

func (f *fakeKeys) Keys() []node.KeysStatus { return f.list }

func (f *fakeKeys) KeysReload() error {
	f.reloads++
	return f.err
}

// TestKeys: what sections have keys, and a reload, with its error and hint.
func TestKeys(t *testing.T) {
	f := &fakeKeys{list: []node.KeysStatus{{Section: "gossip", File: "/k", Keys: 2, Verified: [2]uint64{7, 1}, Refused: 3}}}
	d := serve(t, Config{Node: &fakeNode{KeyRing: f}})
	c := NewClient(d.path)
	got, err := c.Keys(t.Context())
	if diff := cmp.Diff(f.list, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if err := c.KeysReload(t.Context()); err != nil || f.reloads != 1 {
		t.Errorf("%v, %d reloads", err, f.reloads)
	}
	f.err = cli.Hint(syscall.EINVAL, "the keys of before stay in force")
	if err := c.KeysReload(t.Context()); !errors.Is(err, syscall.EINVAL) || cli.HintOf(err) == "" {
		t.Errorf("%v, hint %q", err, cli.HintOf(err))
	}
}
