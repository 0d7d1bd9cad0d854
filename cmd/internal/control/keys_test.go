package control_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	. "ulnet/cmd/internal/control"
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

func (f *fakeKeys) routes() []Route {
	return []Route{node.OpKeys.Do(Told(f.Keys)), node.OpKeysReload.Do(Just(f.KeysReload))}
}

// TestKeys: the list of sections with keys arrives, and so do the result of a reload, its error
// and its hint.
func TestKeys(t *testing.T) {
	f := &fakeKeys{list: []node.KeysStatus{{Section: "gossip", File: "/k", Keys: 2, Verified: [2]uint64{7, 1}, Refused: 3}}}
	d := serve(t, Config{Routes: f.routes()})
	c := NewClient(d.path)
	got, err := node.OpKeys.Call(t.Context(), c, None{})
	if diff := cmp.Diff(f.list, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if err := node.OpKeysReload.Call(t.Context(), c, None{}); err != nil || f.reloads != 1 {
		t.Errorf("%v, %d reloads", err, f.reloads)
	}
	f.err = cli.Hint(syscall.EINVAL, "the keys of before stay in force")
	if err := node.OpKeysReload.Call(t.Context(), c, None{}); !errors.Is(err, syscall.EINVAL) || cli.HintOf(err) == "" {
		t.Errorf("%v, hint %q", err, cli.HintOf(err))
	}
}
