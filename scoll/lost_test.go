package scoll_test

import (
	"testing"

	"ulnet/scoll"
)

// TestFailedInnerServer: SC-133, G-SC-8: in the service of docs/collectives.md rank 4
// of 8 fails to run the request. The answers of the three servers below it had come to
// its service; they are counted all the same, and the root names rank 4 alone.
func TestFailedInnerServer(t *testing.T) {
	s := newServers(8)
	var servers, bytes uint64
	var missing []scoll.Unreached
	for id, k := range s.list {
		service := (&space{
			free: func() uint64 { return 100 },
			done: func(n, sum uint64, list []scoll.Unreached) { servers, bytes, missing = n, sum, list },
		}).service()
		if id == 4 {
			service.IncomingRequest = func(*scoll.Request) error { return scoll.EIO }
		}
		if err := k.agent.RegisterService(service); err != nil {
			t.Fatal(err)
		}
	}
	s.on(0, func(k *server) {
		k.agent.CreateGroup(scoll.GroupConfig{Service: spaceService, Members: s.members, Done: func(g *scoll.Group, err error) {
			if err == nil {
				err = ask(g)
			}
			if err != nil {
				t.Error(err)
			}
		}})
	})
	if servers != 7 || bytes != 700 {
		t.Errorf("%d servers with %d bytes were counted, want 7 with 700", servers, bytes)
	}
	if len(missing) != 1 || missing[0] != (scoll.Unreached{NID: s.members.NID(4), Status: scoll.EIO}) {
		t.Errorf("missing: %v", missing)
	}
}
