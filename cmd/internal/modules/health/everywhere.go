package health

import (
	"context"
	"maps"
	"slices"
	"time"

	"ulnet/cmd/internal/admin"
	scollmod "ulnet/cmd/internal/modules/scoll"
	"ulnet/health"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

const (
	// everywhereGroup is the name of the group of all servers. No command can use that name.
	everywhereGroup = "(servers of client health)"
	// In bytes, pageRoom bounds the answer of one server, and pagesRoom those of all servers
	// together. With very many servers, each still gets at least leastRoom.
	pageRoom, pagesRoom, leastRoom = 48 << 10, 8 << 20, 2 << 10
	// everywhereTimeout bounds the time for all pages.
	everywhereTimeout = time.Minute
	// askTimeout is how long a server may take to answer.
	askTimeout = 5 * time.Second
)

// EverywhereFilter selects clients of all servers.
type EverywhereFilter struct {
	Limit  int  `query:"limit"`  // largest number of clients; 0: DefaultLimit
	Differ bool `query:"differ"` // only clients about which servers disagree
}

// Check refuses an invalid limit.
func (f *EverywhereFilter) Check() error { return checkLimit(f.Limit) }

// ClientView is the state of a client according to some servers.
type ClientView struct {
	Servers     []nid.NID     `json:"servers"`         // servers that have this view, ordered by NID
	Incarnation uint64        `json:"incarnation"`     // number of the connected incarnation
	State       string        `json:"state"`           // state as in health.ClientInfo
	Master      nid.NID       `json:"master,omitzero"` // the client's master; zero: not known
	Epoch       uint32        `json:"epoch"`           // number of the client's choice of that master
	Peer        nid.ProcessID `json:"peer"`            // the process from which the client sends
}

// ClientEverywhere has the views that all servers have of one client.
type ClientEverywhere struct {
	Client health.ClientID `json:"client"`         // id of the client
	Name   string          `json:"name,omitempty"` // name of the client, for people to read
	// Differ means that servers that are connected to the client disagree. A server to which the
	// client is not connected has no view.
	Differ bool         `json:"differ"`
	Views  []ClientView `json:"views"` // views of the servers, the most common one first
}

// EverywhereList is a list of the clients of all servers, ordered by id. It is no snapshot of
// one instant: servers are asked for one page after the other, while clients connect and leave.
type EverywhereList struct {
	Clients   []ClientEverywhere   `json:"clients"`   // the clients, at most as many as the limit
	More      bool                 `json:"more"`      // there are further clients
	Differ    int                  `json:"differ"`    // number of listed clients about which servers disagree
	Servers   []nid.NID            `json:"servers"`   // servers that have answered all questions
	Unreached []scollmod.Unreached `json:"unreached"` // servers that have not answered all questions, and why
}

// everywhere asks all servers for their clients.
type everywhere struct {
	m       *Module
	servers []nid.NID
	room    int
	failing map[nid.NID]string // servers that did not answer, and why
}

// Everywhere returns the clients of all servers. Errors are those of Clients and of broadcasts.
func (m *Module) Everywhere(ctx context.Context, f EverywhereFilter) (EverywhereList, error) {
	if _, err := m.listing(&f); err != nil {
		return EverywhereList{}, err
	}
	f.Limit = limitOf(f.Limit)
	m.roles.mu.Lock()
	servers := m.roles.servers
	m.roles.mu.Unlock()
	e := &everywhere{m: m, servers: servers, room: max(min(pageRoom, pagesRoom/len(servers)), leastRoom), failing: map[nid.NID]string{}}
	ctx, cancel := context.WithTimeout(ctx, everywhereTimeout)
	defer cancel()
	return e.list(ctx, f)
}

// list asks for the pages one after the other, and merges the answers.
func (e *everywhere) list(ctx context.Context, f EverywhereFilter) (list EverywhereList, err error) {
	list.Clients, list.Servers, list.Unreached = []ClientEverywhere{}, []nid.NID{}, []scollmod.Unreached{}
	after := health.ClientID{}
	for more := true; more && !list.More; {
		pages, err := e.ask(ctx, after)
		if err != nil {
			return list, err
		}
		var clients []ClientEverywhere
		if clients, after, more = mergePages(pages); len(pages) == 0 {
			break
		}
		for i := range clients {
			switch c := &clients[i]; {
			case f.Differ && !c.Differ:
			case len(list.Clients) == f.Limit:
				list.More = true
			default:
				list.Clients = append(list.Clients, *c)
			}
		}
		list.More = list.More || more && len(list.Clients) == f.Limit && !f.Differ
	}
	for i := range list.Clients {
		if list.Clients[i].Differ {
			list.Differ++
		}
	}
	for _, id := range e.servers {
		if why, failed := e.failing[id]; failed {
			list.Unreached = append(list.Unreached, scollmod.Unreached{NID: id, Error: why})
		} else {
			list.Servers = append(list.Servers, id)
		}
	}
	return list, nil
}

// ask asks all live servers for a page.
func (e *everywhere) ask(ctx context.Context, after health.ClientID) (map[nid.NID]clientPage, error) {
	order := admin.Order{Verb: admin.Clients, Text: appendPageAsk(nil, after), Room: e.room, Timeout: askTimeout}
	got, err := e.m.scoll.Inquire(ctx, everywhereGroup, "health", e.servers, order)
	if err != nil {
		return nil, err
	}
	pages := map[nid.NID]clientPage{}
	for _, p := range got.Answers {
		if page, why := pageOf(order, p, after); why == "" {
			pages[p.NID] = page
		} else {
			e.failing[p.NID] = why
		}
	}
	maps.Copy(e.failing, got.Unreached)
	return pages, nil
}

// pageOf parses the answer of a server, or returns why there is none.
func pageOf(o admin.Order, p admin.Piece, after health.ClientID) (page clientPage, why string) {
	switch p.Status {
	case scoll.OK:
	case scoll.EINVAL:
		return page, "its lnetd is of a version that cannot be asked for its clients"
	case scoll.EPERM:
		return page, "not allowed: this node is no server of client health there"
	case scoll.EAGAIN:
		return page, "it is no server of client health now: 'lnetctl health status' there"
	default:
		return page, scollmod.ErrorOf(o, p)
	}
	page, err := parsePage(p.Data, after)
	if err != nil {
		return page, err.Error()
	}
	return page, ""
}

// mergePages merges the pages of all servers, up to the last client about which all servers have
// answered. It returns the client after which the next pages begin, and whether there are more
// pages.
func mergePages(pages map[nid.NID]clientPage) (clients []ClientEverywhere, after health.ClientID, more bool) {
	for _, p := range pages { // any order: the result is a minimum
		if last := len(p.clients) - 1; p.more && (!more || p.clients[last].Client.Compare(after) < 0) {
			after, more = p.clients[last].Client, true
		}
	}
	byID := map[health.ClientID]*ClientEverywhere{}
	for id, p := range pages { // any order: the list is sorted below
		for i := range p.clients {
			c := &p.clients[i]
			if more && c.Client.Compare(after) > 0 {
				break
			}
			if byID[c.Client] == nil {
				byID[c.Client] = &ClientEverywhere{Client: c.Client}
			}
			byID[c.Client].add(id, c)
		}
	}
	for _, c := range byID { // any order: the list is sorted below
		c.sort()
		clients = append(clients, *c)
	}
	slices.SortFunc(clients, func(a, b ClientEverywhere) int { return a.Client.Compare(b.Client) })
	return clients, after, more
}

// add adds a server's view of the client.
func (c *ClientEverywhere) add(server nid.NID, info *health.ClientInfo) {
	c.Name = max(c.Name, info.Name)
	for i := range c.Views {
		v := &c.Views[i]
		if v.Incarnation == info.Incarnation && v.State == info.State && v.Master == info.Master && v.Epoch == info.Epoch && v.Peer == info.Peer {
			v.Servers = append(v.Servers, server)
			return
		}
	}
	c.Views = append(c.Views, ClientView{[]nid.NID{server}, info.Incarnation, info.State, info.Master, info.Epoch, info.Peer})
}

// sort orders the views, the most common one first, and their servers by NID.
func (c *ClientEverywhere) sort() {
	c.Differ = len(c.Views) > 1
	for i := range c.Views {
		slices.SortFunc(c.Views[i].Servers, nid.NID.Compare)
	}
	slices.SortFunc(c.Views, func(a, b ClientView) int {
		if more := len(b.Servers) - len(a.Servers); more != 0 {
			return more
		}
		return a.Servers[0].Compare(b.Servers[0])
	})
}

// mayAsk reports whether a root may ask for this server's clients by the given parent: both must be servers of client
// health. If this node is no such server, mayAsk returns true: answerClients then refuses with EAGAIN.
func (m *Module) mayAsk(root, parent nid.NID) bool {
	if _, err := m.server(); err != nil {
		return true
	}
	m.roles.mu.Lock()
	servers := m.roles.servers
	m.roles.mu.Unlock()
	return slices.Contains(servers, root) && slices.Contains(servers, parent)
}

// answerClients returns a page of this server's clients, of at most room bytes.
func (m *Module) answerClients(query []byte, room int) ([]byte, scoll.Status) {
	agent, err := m.server()
	if err != nil {
		return nil, scoll.EAGAIN
	}
	after, err := parsePageAsk(query)
	if err != nil {
		return nil, scoll.EINVAL
	}
	p := clientPage{quorum: agent.Quorum()}
	var total, behind int
	p.clients, behind = agent.List(room/pageEntrySize, func(c *health.ClientInfo) bool {
		total++
		return c.Client.Compare(after) > 0
	})
	p.total, p.more = uint32(total), behind > len(p.clients)
	return p.appendBinary(nil, room), scoll.OK
}
