package portals_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestGroupFollowsNI: RM-A22: an NI is removed and added again, for instance because a tunable has changed. The new
// NI joins the groups that users have joined at the earlier one. When the users leave a group, the new NI leaves it.
func TestGroupFollowsNI(t *testing.T) {
	spec.Covers(t, "RM-A22")
	table, c := newCaster(t)
	node := table.Node()
	for _, join := range []struct {
		self   nid.NID
		group  lnd.Group
		portal int
	}{{nid.NID{}, 3, 40}, {castSelf, 3, 41}, {castSelf, 4, 40}} {
		if err := table.JoinGroup(join.self, join.group, join.portal); err != nil {
			t.Fatal(err)
		}
	}
	replace := func() {
		c.groups = nil
		if err := node.RemoveNI(context.Background(), node.NIs()[0]); err != nil {
			t.Fatal(err)
		}
		if len(c.groups) > 0 {
			t.Errorf("a removed NI has joined %v", c.groups)
		}
	}
	add := func() {
		if _, err := node.AddNI(c, lnd.Config{Net: castNet}); err != nil {
			t.Fatal(err)
		}
	}
	replace()
	if add(); !slices.Equal(c.groups, []lnd.Group{3, 4}) {
		t.Errorf("the new NI has joined %v", c.groups)
	}
	if s := node.Snapshot().NIs[0].Groups; len(s) != 2 || s[0].Members != 2 || s[1].Members != 1 {
		t.Errorf("groups of the new NI: %+v", s)
	}
	if err := table.LeaveGroup(castSelf, 4, 40); err != nil || !slices.Equal(c.groups, []lnd.Group{3}) {
		t.Errorf("leave: %v, groups %v", err, c.groups)
	}
	replace()
	if err := errors.Join(table.LeaveGroup(castSelf, 3, 41), table.LeaveGroup(nid.Any(), 3, 40)); err != nil {
		t.Errorf("leave without an NI: %v", err)
	}
	if err := table.LeaveGroup(castSelf, 3, 40); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("leave once more, without an NI: %v", err)
	}
	if add(); len(c.groups) > 0 {
		t.Errorf("the third NI has joined %v", c.groups)
	}
}

// TestGroupJoinsLater: RM-A22: an NI that takes the place of a removed one cannot join the groups of that one. It
// tries again when its link changes.
func TestGroupJoinsLater(t *testing.T) {
	spec.Covers(t, "RM-A22")
	table, c := newCaster(t)
	node := table.Node()
	if err := table.JoinGroup(castSelf, 3, 40); err != nil {
		t.Fatal(err)
	}
	c.groups = nil
	if err := node.RemoveNI(context.Background(), node.NIs()[0]); err != nil {
		t.Fatal(err)
	}
	c.refused = syscall.EADDRINUSE
	ni, err := node.AddNI(c, lnd.Config{Net: castNet})
	if err != nil || len(c.groups) > 0 {
		t.Fatal(err, c.groups)
	}
	c.refused = nil
	ni.SetLink(errors.New("test: no carrier"))
	ni.SetLink(nil)
	if !slices.Equal(c.groups, []lnd.Group{3}) {
		t.Errorf("joined %v", c.groups)
	}
}
