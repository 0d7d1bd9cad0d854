package health

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/health"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// TestHealthEverywhere: CH-61: a server lists the clients of all servers, page by page, and
// names the servers that did not answer.
func TestHealthEverywhere(t *testing.T) {
	spec.Covers(t, "CH-61")
	t.Parallel()
	h := newHealthNodes(t, 3, 2, func(_ int, c *config.Config) { // short times: clients wait that long for the server that dies
		times := &c.Health.Times
		times.Client, times.Elect, times.Orphan = 2*time.Second, 500*time.Millisecond, 3*time.Second
	})
	await(t, "connections", func() bool { return h.settled(3, 3) && h.settled(4, 3) })
	await(t, "servers", func() bool { return h.alive(0)+h.alive(1)+h.alive(2) == 9 })
	want := func(what string, list EverywhereList, err error, clients, servers int) {
		t.Helper()
		if err != nil || len(list.Clients) != clients || len(list.Servers) != servers || len(list.Unreached) != 3-servers {
			t.Fatalf("%s: %+v, %v", what, list, err)
		}
		for _, c := range list.Clients {
			if c.Differ || len(c.Views) != 1 || len(c.Views[0].Servers) != servers || c.Views[0].State != "connected" || !h.isClient(c.Name, c.Views[0].Peer.NID) {
				t.Errorf("%s: %+v", what, c)
			}
		}
	}
	list, err := h.nodes[0].Everywhere(t.Context(), EverywhereFilter{})
	want("all", list, err, 2, 3)
	list, err = h.nodes[1].Everywhere(t.Context(), EverywhereFilter{Limit: 1})
	if want("one", list, err, 1, 3); !list.More {
		t.Error("there are more")
	}
	list, err = h.nodes[2].Everywhere(t.Context(), EverywhereFilter{Differ: true})
	want("those that differ", list, err, 0, 3)
	servers := []nid.NID{h.nid(0), h.nid(1), h.nid(2)}
	e := &everywhere{m: h.nodes[0].Module, servers: servers, room: pageHeadSize + pageEntrySize + len("client-3"), failing: map[nid.NID]string{}}
	list, err = e.list(t.Context(), EverywhereFilter{Limit: 9})
	want("page by page", list, err, 2, 3)
	h.stop(2)
	await(t, "death", func() bool { return h.alive(0) == 2 })
	await(t, "another master", func() bool { return h.settled(3, 2) && h.settled(4, 2) })
	list, err = h.nodes[0].Everywhere(t.Context(), EverywhereFilter{})
	if want("one is dead", list, err, 2, 2); list.Unreached[0].NID != h.nid(2) || list.Unreached[0].Error == "" {
		t.Errorf("%+v", list.Unreached)
	}
	if _, err := h.nodes[0].Everywhere(t.Context(), EverywhereFilter{Limit: -1}); !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
	if _, err := h.nodes[3].Everywhere(t.Context(), EverywhereFilter{}); !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
	h.refusesStrangers(t)
}

func (h *healthNodes) isClient(name string, id nid.NID) bool {
	i := slices.Index([]string{"", "", "", "client-3", "client-4"}, name)
	return i > 0 && id == h.nid(i)
}

// refusesStrangers: a server gives the list of its clients only to other servers, and only if
// the question came through servers alone. A malformed question is refused.
func (h *healthNodes) refusesStrangers(t *testing.T) {
	t.Helper()
	ask := appendPageAsk(nil, health.ClientID{})
	server, client := h.nid(1), h.nid(3)
	for _, c := range []struct {
		root, parent nid.NID
		ask          []byte
		want         scoll.Status
	}{
		{server, server, ask, scoll.OK},
		{client, client, ask, scoll.EPERM},
		{server, client, ask, scoll.EPERM},
		{client, server, ask, scoll.EPERM},
		{server, server, ask[1:], scoll.EINVAL},
	} {
		page, status := []byte(nil), scoll.EPERM
		if h.nodes[0].mayAsk(c.root, c.parent) {
			page, status = h.nodes[0].answerClients(c.ask, leastRoom)
		}
		if status != c.want || (len(page) > 0) != (c.want == scoll.OK) {
			t.Errorf("%v by %v: %v, %d bytes", c.root, c.parent, status, len(page))
		}
	}
	if _, status := h.nodes[3].answerClients(ask, leastRoom); !h.nodes[3].mayAsk(server, server) || status != scoll.EAGAIN {
		t.Errorf("a node that is no server: %v", status)
	}
}
