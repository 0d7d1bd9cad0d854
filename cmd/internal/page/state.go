package page

import (
	"time"

	"ulnet/lnet/nid"
)

// MaxRows bounds each list of a State, so that neither the state nor the page grows with the
// cluster. Elements that need attention come first.
const MaxRows = 200

// State is what the page shows. Each field is a section, which is sent when it changes. A nil
// section belongs to a protocol that does not run.
type State struct {
	Node        Node         `json:"node"`        // the node itself
	Now         Now          `json:"now"`         // time and counters, which differ each time
	NIs         []NI         `json:"nis"`         // NIs of the node, 0@lo left out
	Peers       Peers        `json:"peers"`       // NIs of other nodes
	Routes      Routes       `json:"routes"`      // routes of the node
	Gossip      *Gossip      `json:"gossip"`      // which servers are alive
	Zone        *Zone        `json:"zone"`        // members of the zone, and base zones
	Servers     *Servers     `json:"servers"`     // the node as a server of clients
	Client      *Client      `json:"client"`      // the node as a client of servers
	Collectives *Collectives `json:"collectives"` // requests to all servers
	Multicast   []Group      `json:"multicast"`   // groups of reliable multicast
	Events      []Event      `json:"events"`      // the latest events, the latest first; at most 200
	Capture     *Capture     `json:"capture"`     // captures that a browser may start; nil: none
}

// Node is the node itself.
type Node struct {
	Host        string    `json:"host"`        // hostname
	NIDs        []nid.NID `json:"nids"`        // NIDs of the node, 0@lo left out
	Version     string    `json:"version"`     // version of lnetd
	Incarnation uint64    `json:"incarnation"` // number of this incarnation of the node
	Discovery   bool      `json:"discovery"`   // this node discovers its peers
	Router      bool      `json:"router"`      // the node forwards messages
}

// Now has the time of a reading, and the counters of the node.
type Now struct {
	TimeMS   int64             `json:"time_ms"`   // the wall clock, in ms since 1970
	ClockMS  float64           `json:"clock_ms"`  // a clock that is never set back, in ms; for rates
	Sent     Count             `json:"sent"`      // messages that this node has sent
	Received Count             `json:"received"`  // messages to this node that it has accepted
	Routed   Count             `json:"routed"`    // messages that this node has forwarded
	Dropped  Count             `json:"dropped"`   // messages that this node has dropped
	InFlight uint64            `json:"in_flight"` // number of messages that are being sent
	Errors   uint64            `json:"errors"`    // number of sends that failed
	Timeouts uint64            `json:"timeouts"`  // number of operations that got no answer in time
	Resends  uint64            `json:"resends"`   // number of messages that were sent again
	Drops    map[string]uint64 `json:"drops"`     // number of dropped messages for each reason that has occurred
}

// Count counts messages and their payload.
type Count struct {
	Messages uint64 `json:"messages"` // number of messages
	Bytes    uint64 `json:"bytes"`    // bytes of their payload
}

// NI is an NI of the node.
type NI struct {
	NID         nid.NID `json:"nid"`         // NID of the NI
	Interface   string  `json:"interface"`   // name of the network interface
	Status      string  `json:"status"`      // up or down, as the node tells its peers
	Cause       string  `json:"cause"`       // cause of the status down
	Health      int     `json:"health"`      // 0 to 1000
	Credits     int     `json:"credits"`     // free credits; negative: number of messages that wait for one
	MinCredits  int     `json:"min_credits"` // lowest value of Credits so far
	MaxCredits  int     `json:"max_credits"` // value of the tunable credits
	Peers       int     `json:"peers"`       // number of peers that the NI reaches
	Connections int     `json:"connections"` // number of established connections
	Sent        Count   `json:"sent"`        // messages that the NI has sent
	Received    Count   `json:"received"`    // messages that the NI has accepted
	Dropped     Count   `json:"dropped"`     // messages that arrived by the NI and were dropped
}

// Peers are the NIs of other nodes, once for each NI of this node.
type Peers struct {
	Total   int    `json:"total"`   // number of peers
	Down    int    `json:"down"`    // number of peers whose state is down
	Unwell  int    `json:"unwell"`  // number of peers whose health is below 1000
	Waiting int    `json:"waiting"` // number of messages that wait for a credit or for discovery
	List    []Peer `json:"list"`    // at most MaxRows peers: first those that are down or unwell, or for which messages wait
}

// Peer is an NI of another node.
type Peer struct {
	NID        nid.NID `json:"nid"`         // NID of the peer
	Via        nid.NID `json:"via"`         // NI of this node that sends to the peer
	State      string  `json:"state"`       // up, down or NA
	Cause      string  `json:"cause"`       // cause of the state down
	Health     int     `json:"health"`      // 0 to 1000
	Credits    int     `json:"credits"`     // free credits; negative: number of messages that wait for one
	MinCredits int     `json:"min_credits"` // lowest value of Credits so far
	MaxCredits int     `json:"max_credits"` // value of the tunable peer_credits
	Waiting    int     `json:"waiting"`     // messages that wait for a credit or for discovery
	Sent       Count   `json:"sent"`        // messages that this node has sent to the peer
	Received   Count   `json:"received"`    // messages of the peer that this node has accepted
}

// Routes are the routes of the node.
type Routes struct {
	Total int     `json:"total"` // number of routes
	Down  int     `json:"down"`  // number of routes whose state is down
	List  []Route `json:"list"`  // at most MaxRows routes, those that are down first
}

// Route is a route.
type Route struct {
	Net      string  `json:"net"`      // network that the route leads to
	Gateway  nid.NID `json:"gateway"`  // NID of the gateway, the next hop
	Hops     int     `json:"hops"`     // number of hops; -1: undefined
	Priority int     `json:"priority"` // priority of the route; 0 is best
	State    string  `json:"state"`    // up or down
	Cause    string  `json:"cause"`    // reason of the state down
}

// Gossip says which servers are alive.
type Gossip struct {
	State        string        `json:"state"`        // stopped, running, excluded (its parameters are not those of others, or it has left the list), or listening (still silent)
	Self         nid.NID       `json:"self"`         // NID under which this node takes part
	Quorum       bool          `json:"quorum"`       // enough participants are alive for a quorum
	Alive        int           `json:"alive"`        // number of live participants, this node included
	Total        int           `json:"total"`        // number of participants
	Participants []Participant `json:"participants"` // at most MaxRows participants, those that are not alive first
}

// Participant is a server that takes part in gossip.
type Participant struct {
	NID    nid.NID `json:"nid"`    // NID of the participant
	State  string  `json:"state"`  // alive, dead or unknown
	Age    uint8   `json:"age"`    // cycles since the participant was last heard of; 255: never
	Deaths uint64  `json:"deaths"` // how often the participant has died
}

// Zone is the zone of the node.
type Zone struct {
	Name     string   `json:"name"`     // name of the zone
	State    string   `json:"state"`    // state of this node, such as joined
	Members  int      `json:"members"`  // number of members, this node included
	Suspects int      `json:"suspects"` // number of suspected members
	Links    int      `json:"links"`    // number of links to neighbours that are up
	List     []Member `json:"list"`     // at most MaxRows nodes: suspected members, then former members, then the other members
	Census   []Census `json:"census"`   // base zones, if this node is a supervisor; at most MaxRows
}

// Member is a member of the zone, or a node that was one.
type Member struct {
	Name  string `json:"name"`  // name of the node
	State string `json:"state"` // member, suspected, left, removed or dead
	Self  bool   `json:"self"`  // the member is this node
}

// Census is what the management zone knows of a base zone.
type Census struct {
	Zone     string `json:"zone"`     // name of the base zone
	State    string `json:"state"`    // current, stale or lost
	Size     int    `json:"size"`     // number of members of the zone
	Delegate string `json:"delegate"` // name of the delegate that reports
}

// Servers is the node as a server of clients.
type Servers struct {
	State    string       `json:"state"`    // running, or waiting until gossip reports the servers
	Quorum   bool         `json:"quorum"`   // the server can reach a majority of the servers
	Draining bool         `json:"draining"` // the server asks its clients to choose other masters
	Clients  int          `json:"clients"`  // number of connected clients, in any state
	Mastered int          `json:"mastered"` // number of clients whose master is this server
	Orphaned int          `json:"orphaned"` // number of clients whose master is dead
	Evicting int          `json:"evicting"` // number of clients that this server is evicting
	Masters  []Master     `json:"masters"`  // the servers, at most MaxRows
	List     []ClientNode `json:"list"`     // clients, at most MaxRows, in the order of their ids
}

// Master is a server as this one knows it.
type Master struct {
	NID      nid.NID `json:"nid"`      // NID of the server
	Alive    bool    `json:"alive"`    // gossip reports the server as alive
	Self     bool    `json:"self"`     // the server is this node
	Draining bool    `json:"draining"` // the server has reported that it drains
	Clients  int     `json:"clients"`  // number of this server's clients whose master is the server NID
}

// ClientNode is a client that is connected to this server.
type ClientNode struct {
	ID     string  `json:"id"`     // id of the client
	Name   string  `json:"name"`   // a name for people to read
	NID    nid.NID `json:"nid"`    // NID from which the client sends
	State  string  `json:"state"`  // saving, connected, orphaned, recovering or evicting
	Master nid.NID `json:"master"` // the server that watches over the client
}

// Client is the node as a client of servers.
type Client struct {
	State    string  `json:"state"`           // resting, electing, settled or waiting
	Master   nid.NID `json:"master,omitzero"` // the present master; zero: there is none
	Attached int     `json:"attached"`        // number of servers to which the client is connected
	Servers  int     `json:"servers"`         // number of servers in the cluster
}

// Collectives are requests to all servers at once.
type Collectives struct {
	Groups  []CollectiveGroup `json:"groups"`  // named groups, at most MaxRows
	Carried int               `json:"carried"` // number of requests, of any root, that are in flight at this node
	Running int               `json:"running"` // number of this node's requests that have not ended
	List    []Collective      `json:"list"`    // at most MaxRows of this node's requests: first those that run, and of each kind the latest first
}

// CollectiveGroup is a named group.
type CollectiveGroup struct {
	Name    string `json:"name"`    // name of the group
	Members int    `json:"members"` // number of members
	Alive   int    `json:"alive"`   // number of members that gossip reports alive
	Tree    string `json:"tree"`    // tree of the group's requests
	// Branches is the tree below this node, while a request of this node runs in a group of at most
	// MaxTree members that this node belongs to; otherwise nil. The index of an element is its rank.
	Branches []Branch `json:"branches"`
}

// MaxTree is the number of members above which the tree of a group is not shown.
const MaxTree = 64

// Branch is a member of a group in the tree of its requests.
type Branch struct {
	NID    nid.NID `json:"nid"`    // NID of the member
	Parent int     `json:"parent"` // rank of its parent; -1: it is the root, this node
}

// Collective is a request to the members of a group.
type Collective struct {
	ID        uint64    `json:"id"`         // number of the request
	Group     string    `json:"group"`      // name of the group
	What      string    `json:"what"`       // verb and action
	Began     time.Time `json:"began"`      // begin by the wall clock
	Running   bool      `json:"running"`    // the request has not ended
	Status    string    `json:"status"`     // result in a word, or the error for which there is no result; empty while it runs
	ElapsedUS int64     `json:"elapsed_us"` // duration in µs; 0 while it runs
	Members   int       `json:"members"`    // number of members that the request is for
	Reached   int       `json:"reached"`    // number of members whose answer arrived
	Unreached int       `json:"unreached"`  // number of members whose answer did not arrive
}

// Group is a group of reliable multicast.
type Group struct {
	Name     string  `json:"name"`             // name of the group
	State    string  `json:"state"`            // out, joining, member or leaving
	Members  int     `json:"members"`          // number of members in the newest roster
	Manager  nid.NID `json:"manager,omitzero"` // NID of the active manager, as far as known
	InFlight int     `json:"in_flight"`        // number of this node's datagrams that are not released
	Waits    int     `json:"waits"`            // number of messages that wait for an acknowledgement
}

// Event is something that happened in the cluster.
type Event struct {
	Time  time.Time `json:"time"`  // time of the event, by the wall clock
	Event string    `json:"event"` // source and name, such as gossip.died or peer.down
	About string    `json:"about"` // what the event is about: the NID or name of a node, an NI, a peer or a route; empty: this node
}

// Capture is what all browsers may know of captures, which only those with a token can start.
type Capture struct {
	Running bool   `json:"running"`      // a capture runs
	Bytes   int    `json:"bytes"`        // bytes of the capture that runs or, if none does, of the last one; 0: there is none to download
	Wrong   uint64 `json:"wrong_tokens"` // number of requests with a wrong token or without one
}
