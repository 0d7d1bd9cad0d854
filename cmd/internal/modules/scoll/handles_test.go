package scoll

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/cmd/internal/config"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// twoServers starts two servers with a group g of both, and an action that runs until it is
// killed.
func twoServers(t *testing.T) []*Module {
	t.Helper()
	return scollNodes(t, 2, func(c *config.Config) {
		c.Scoll.Admin.AllowRoots, c.Scoll.Admin.Unidentified = setsOf(t, "127.0.0.71@tcp"), true
		c.Scoll.Admin.Actions = []config.Action{{Name: "sleep", Run: []string{"/bin/sleep", "1000"}, Timeout: time.Minute}}
		c.Scoll.Groups = []config.Group{{Name: "g", NIDs: []nid.NID{nidAt("127.0.0.71"), nidAt("127.0.0.72")}}}
	})
}

// targetOf returns the target of broadcasts over a group.
func targetOf(t *testing.T, c *collective, name string) *target {
	t.Helper()
	g, err := c.group(name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.target(g, "", false)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// use makes the group of a name, for other members than before.
func use(ctx context.Context, c *collective, g *namedGroup) error {
	h, err := c.handle(ctx, g, g.members, g.tree)
	if err == nil {
		c.groups.release(h)
	}
	return err
}

// TestHandleInUse: while a broadcast has its group, and has not been sent yet because its bulk data
// are sent by multicast first, another command uses the name of the group with other members. The
// broadcast is sent over its group all the same, and then the group ends at all members.
func TestHandleInUse(t *testing.T) {
	nodes := twoServers(t)
	c := nodes[0].running.Load()
	b := targetOf(t, c, "g")
	outcome, err := b.outcome(t.Context(), admin.Order{
		Verb: admin.Text, Bulk: []byte("data"), Timeout: time.Minute,
		Carry: func(ctx context.Context, _ admin.ID, _ []byte) bool {
			other, err := c.newGroup("g", "gossip", []nid.NID{nidAt("127.0.0.71")}, scoll.Tree{})
			if err == nil {
				err = use(ctx, c, other)
			}
			if err != nil {
				t.Error(err)
			}
			return false
		},
	})
	if err != nil || outcome.Status != scoll.OK {
		t.Fatalf("%+v, %v", outcome, err)
	}
	await(t, "end of the group", func() bool { return len(nodes[1].running.Load().agent.Groups()) == 0 })
}

// TestLateGroup: the context of a command ends while the list of members is sent. The group that
// exists then is destroyed, because no command has it.
func TestLateGroup(t *testing.T) {
	nodes := scollNodes(t, 2, nil)
	c := nodes[0].running.Load()
	c.groups.listSize = 0
	if err := nodes[0].CreateGroup(GroupCreate{Name: "g"}, strings.NewReader("127.0.0.[71-72]@tcp")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := targetOf(t, c, "g")
	for {
		g, err := c.create(ctx, "g", b.members, b.tree)
		if errors.Is(err, context.Canceled) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		c.groups.end(g) // it was there at once: try again
	}
	for i := range nodes {
		await(t, "end of the group", func() bool { return len(nodes[i].running.Load().agent.Groups()) == 0 })
	}
}

// TestDestroyGivenUp: the context of a command that destroys a group ends while a broadcast over the
// group runs. The node still has the group, so that a later command can destroy it.
func TestDestroyGivenUp(t *testing.T) {
	nodes := twoServers(t)
	c := nodes[0].running.Load()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	b := targetOf(t, c, "g")
	go func() {
		_, err := b.outcome(ctx, admin.Order{Verb: admin.Run, Action: "sleep", Timeout: time.Minute})
		done <- err
	}()
	await(t, "a broadcast", func() bool { return c.agent.Stats().Broadcasts == 1 })
	short, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	if err := nodes[0].DestroyGroup(short, GroupName{"g"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if !c.statusOf(b.group).Known {
		t.Error("the node has lost the group")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	await(t, "end of the group", func() bool { return nodes[0].DestroyGroup(t.Context(), GroupName{"g"}) == nil })
}
