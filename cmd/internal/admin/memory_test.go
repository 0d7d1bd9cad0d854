package admin

import (
	"errors"
	"testing"
	"time"

	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// TestMemoryGivenBack: if no buffers can be posted for a request, its reserved memory is
// released. Otherwise, after a number of such requests, a member would refuse all others.
func TestMemoryGivenBack(t *testing.T) {
	const other = scoll.ServiceID(99)
	s := newServers(t, 3, func(_ int, cfg *Config, _ *scoll.Config) {
		cfg.IsStranger = func(nid.NID) bool { return true }
	})
	q := Request{Version: Version, Verb: Ping, Answer: MaxAnswer}
	tried := 0
	for _, k := range s.nodes {
		err := k.agent.RegisterService(scoll.Service{
			ID: other, PostReply: func(r *scoll.Request) { _ = r.Reply(nil) },
			PreRequest: func(r *scoll.Request) error {
				for i := range r.Children() {
					if err := r.PostReply(i, nil); err != nil {
						return err
					}
				}
				return nil
			},
			IncomingRequest: func(r *scoll.Request) error { // when this function runs, buffers can no longer be posted
				if r.Root() || r.Children() == 0 {
					return nil
				}
				tried++
				if err := k.admin.preRequest(r); !errors.Is(err, scoll.EAGAIN) && !errors.Is(err, scoll.EALREADY) {
					t.Errorf("posted: %v", err)
				}
				if all, strange := k.admin.memory.Load(), k.admin.strange.Load(); all != 0 || strange != 0 {
					t.Errorf("%d bytes are kept, %d of strangers", all, strange)
				}
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.fabric.Do(0, func(*simlnd.Host) {
		tree := scoll.Tree{Type: scoll.KAry, K: 1} // the tree is a chain
		s.nodes[0].agent.CreateGroup(scoll.GroupConfig{Service: other, Members: s.members, Tree: tree, Done: func(g *scoll.Group, err error) {
			r, err2 := g.NewRequest(scoll.RequestConfig{Payload: q.AppendTo(nil)})
			if err2 == nil {
				err2 = errors.Join(r.PostReply(0, nil), r.Send())
			}
			if err = errors.Join(err, err2); err != nil {
				t.Error(err)
			}
		}})
	})
	if s.run(time.Second); tried != 1 {
		t.Errorf("tried %d times", tried)
	}
}
