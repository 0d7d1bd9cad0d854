package scoll

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/cmd/internal/cli"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// BroadcastRequest is a request to the servers of a group; bulk data follows it.
type BroadcastRequest struct {
	Group  string `json:"group"`            // name of the group
	Verb   string `json:"verb"`             // verb, as package admin names it
	Action string `json:"action,omitempty"` // with the verb run: name of the action
	Text   []byte `json:"text,omitempty"`   // text for the verb, such as the input of an action
	// If Live is set, dead members are left out. Otherwise a broadcast is not sent if a member is
	// dead, except a ping, which is sent to the other members and lists the dead ones in Unreached.
	Live      bool   `json:"live"`
	TimeoutMS int64  `json:"timeout_ms"`     // time limit of a member, in ms; 0: 5 s, for the verb run 30 s
	Tree      string `json:"tree,omitempty"` // tree of the broadcast; "": the group's
	// Via tells how to send bulk data. "multicast": by multicast, where that works; "" or "tree":
	// down the tree.
	Via string `json:"via,omitempty"`
}

// BroadcastReply is the result of a broadcast.
type BroadcastReply struct {
	Status    BroadcastStatus `json:"status"`              // summary of the result
	ElapsedUS int64           `json:"elapsed_us"`          // duration in µs; if a list of members had to be sent first, that time is included
	Reached   []nid.NID       `json:"reached"`             // members whose answer arrived
	Unreached []Unreached     `json:"unreached"`           // all other members, sorted by NID
	Skipped   []nid.NID       `json:"skipped,omitempty"`   // dead members, with BroadcastRequest.Live
	Root      nid.NID         `json:"root"`                // NID of this node
	Group     string          `json:"group"`               // name of the group
	Tree      string          `json:"tree"`                // tree that was used
	Via       string          `json:"via,omitempty"`       // "multicast" or "tree": how bulk data went, with BroadcastRequest.Via "multicast"
	ViaError  string          `json:"via_error,omitempty"` // why the bulk data did not go by multicast
	Answers   []Answer        `json:"answers"`             // answers of the members in Reached
}

// BroadcastStatus is the summary of a broadcast.
type BroadcastStatus string

// The statuses.
const (
	BroadcastOK         BroadcastStatus = "ok"         // all members answered, without an error
	BroadcastFailed     BroadcastStatus = "failed"     // all members answered, some with an error
	BroadcastIncomplete BroadcastStatus = "incomplete" // some members did not answer
	BroadcastUnsent     BroadcastStatus = "unsent"     // no member was asked
)

// Unreached is a member whose answer did not arrive. It may have executed the request.
type Unreached struct {
	NID   nid.NID `json:"nid"`   // NID of the member
	Error string  `json:"error"` // why the member was not reached
}

// Answer is a member's answer. It depends on the verb which fields are set.
type Answer struct {
	NID      nid.NID `json:"nid"`                 // NID of the member
	TookUS   int64   `json:"took_us"`             // time that the member took, in µs
	Error    string  `json:"error,omitempty"`     // why the other fields are not set
	Version  string  `json:"version,omitempty"`   // with version: version of lnetd
	Digest   string  `json:"digest,omitempty"`    // with config and text: SHA-256, in hexadecimal
	OffsetNS *int64  `json:"offset_ns,omitempty"` // with clock: the member's clock minus this node's, in ns
	BoundNS  *int64  `json:"bound_ns,omitempty"`  // largest error of OffsetNS, in ns
	Exit     *int32  `json:"exit,omitempty"`      // with run: exit code, or minus the signal
	TimeOver bool    `json:"time_over,omitempty"` // the action was killed after its timeout
	Cut      bool    `json:"cut,omitempty"`       // the beginning of the output is lost
	Output   *string `json:"output,omitempty"`    // output of the action
}

const (
	// askTimeout is how long a member may take to answer by default.
	askTimeout = 5 * time.Second
	// actTimeout is how long an action may take by default.
	actTimeout = 30 * time.Second
)

// Broadcast asks all servers of a group at once. The reply lists the members that did not
// answer. Errors:
//
//	ESRCH   this node takes no part in collectives
//	ENOENT  there is no such group
//	EINVAL  an invalid verb, action or tree, or a timeout above max_timeout
//	EMSGSIZE, EBUSY, ESTALE  as scoll.Group.NewRequest
//	ECANCELED  lnetd stops, or ctx has ended: members may have executed the request
func (m *Module) Broadcast(ctx context.Context, r BroadcastRequest, bulk io.Reader) (BroadcastReply, error) {
	b, order, err := m.prepare(r, bulk)
	if err != nil {
		return BroadcastReply{}, err
	}
	b.names = order.Verb == admin.Ping
	return b.send(ctx, order)
}

// prepare returns the order for a request, and the members and tree to which to send it.
func (m *Module) prepare(r BroadcastRequest, bulk io.Reader) (b *target, o admin.Order, err error) {
	c, err := m.enabled()
	if err == nil {
		o, err = c.order(r, bulk)
	}
	if err != nil {
		return nil, o, err
	}
	g, err := c.group(r.Group)
	if err == nil {
		b, err = c.target(g, r.Tree, r.Live)
	}
	return b, o, err
}

// order returns the order for a request.
func (c *collective) order(r BroadcastRequest, bulk io.Reader) (o admin.Order, err error) {
	verb, err := admin.ParseVerb(r.Verb)
	switch {
	case err != nil:
	case (verb == admin.Run) != (r.Action != ""):
		err = errors.New("an action belongs to the verb run, and to no other")
	case r.TimeoutMS < 0 || r.TimeoutMS > c.cfg.MaxTimeout.Milliseconds():
		err = fmt.Errorf("time-out of %d ms: want up to %v, max_timeout of the section scoll", r.TimeoutMS, c.cfg.MaxTimeout)
	case r.Via != "" && r.Via != viaTree && r.Via != viaMulticast:
		err = fmt.Errorf("via %q: want %s or %s", r.Via, viaTree, viaMulticast)
	}
	if err != nil {
		return o, cli.Errno(syscall.EINVAL, err)
	}
	o = admin.Order{Verb: verb, Action: r.Action, Text: r.Text, Live: r.Live, Timeout: time.Duration(r.TimeoutMS) * time.Millisecond}
	if r.Via == viaMulticast {
		o.Carry = func(context.Context, admin.ID, []byte) bool { return false } // no multicast: the data goes down the tree, see the method carrier
	}
	switch {
	case o.Timeout == 0 && verb == admin.Run:
		o.Timeout = actTimeout
	case o.Timeout == 0:
		o.Timeout = askTimeout
	}
	if bulk != nil {
		o.Bulk, err = io.ReadAll(io.LimitReader(bulk, int64(c.cfg.Admin.MaxBulk)+1))
	}
	if err == nil && len(o.Bulk) > c.cfg.Admin.MaxBulk {
		err = cli.Hint(cli.Errnof(syscall.EMSGSIZE, "more than %d bytes of bulk data", c.cfg.Admin.MaxBulk),
			"max_bulk of the section scoll on all servers sets how many there may be")
	}
	return o, err
}

func (c *collective) isAlive(id nid.NID) bool {
	alive, _ := c.m.gossip.View().Alive(id)
	return alive
}

// send broadcasts an order and returns the result.
func (b *target) send(ctx context.Context, o admin.Order) (BroadcastReply, error) {
	entry := b.c.log.begin(b, o)
	reply, err := b.broadcast(ctx, o)
	b.c.log.end(entry, &reply, err)
	return reply, err
}

func (b *target) broadcast(ctx context.Context, o admin.Order) (BroadcastReply, error) {
	reply := BroadcastReply{
		Root: b.c.self, Group: b.group.name, Tree: b.tree.String(), Reached: []nid.NID{}, Unreached: []Unreached{}, Answers: []Answer{},
	}
	b.c.carrier(&o, &reply)
	began := time.Now()
	asked := o.Live
	outcome, err := b.ask(ctx, &o)
	reply.ElapsedUS = time.Since(began).Microseconds()
	if why := whyUnsent(err); why != nil {
		b.unsent(&reply, why)
		return reply, nil
	}
	if err != nil {
		return reply, failed(err)
	}
	b.fill(&reply, o, outcome)
	if !asked {
		reply.nameSkipped()
	}
	if err := ctx.Err(); err != nil {
		return reply, cli.Hint(&givenUp{err}, "members may have done what they were asked for")
	}
	return reply, nil
}

// givenUp is the error of a broadcast that ended because lnetd stops, or because the client no
// longer waits.
type givenUp struct{ err error }

func (g *givenUp) Error() string {
	return "given up: lnetd is stopping, or nobody waits for it any longer"
}
func (g *givenUp) Unwrap() []error { return []error{syscall.ECANCELED, g.err} }

// whyUnsent returns the reasons for which a broadcast could not be sent, by the members that they are about;
// nil if the error is about no single member.
func whyUnsent(err error) map[nid.NID]string {
	e, ok := errors.AsType[*scoll.Error](err)
	if !ok || len(e.Dead)+len(e.Unreached) == 0 {
		return nil
	}
	why := map[nid.NID]string{}
	for _, id := range e.Dead {
		why[id] = unreachedText(scoll.EHOSTDOWN)
	}
	for _, u := range e.Unreached {
		why[u.NID] = unreachedText(u.Status)
	}
	return why
}

// unsent lists all members as unreached, because the broadcast could not be sent. The parameter why has the
// reasons, by the members that they are about.
func (b *target) unsent(reply *BroadcastReply, why map[nid.NID]string) {
	reply.Status = BroadcastUnsent
	for _, id := range b.group.nids {
		reply.Unreached = append(reply.Unreached, Unreached{id, cmp.Or(why[id], "not asked")})
	}
	sortUnreached(reply.Unreached)
}

// fill puts the outcome into a reply.
func (b *target) fill(reply *BroadcastReply, o admin.Order, outcome *admin.Outcome) {
	var answers []admin.Piece
	answers, reply.Unreached, reply.Skipped = b.account(o, outcome)
	reply.Status = BroadcastOK
	for _, p := range answers {
		a := answerOf(o, p)
		if a.isBad() {
			reply.Status = BroadcastFailed
		}
		reply.Reached, reply.Answers = append(reply.Reached, p.NID), append(reply.Answers, a)
	}
	if len(reply.Unreached) > 0 {
		reply.Status = BroadcastIncomplete
	}
	if outcome.Status != scoll.OK {
		reply.Status = BroadcastUnsent
	}
}

// account puts each member of the group into one list: those that answered, that were not
// reached, and that were left out because they are dead.
func (b *target) account(o admin.Order, outcome *admin.Outcome) (answers []admin.Piece, unreached []Unreached, skipped []nid.NID) {
	seen := map[nid.NID]bool{}
	unreached = []Unreached{}
	above := b.reasons(outcome.Unreached, o.Live && !b.apart)
	for _, u := range outcome.Unreached {
		if b.isMember(u.NID) {
			seen[u.NID] = true
			unreached = append(unreached, Unreached{u.NID, above(u)})
		}
	}
	for _, p := range outcome.Answers {
		if !seen[p.NID] && b.isMember(p.NID) {
			seen[p.NID] = true
			answers = append(answers, p)
		}
	}
	dead := slices.Concat(b.dead, outcome.LeftOut)
	for _, id := range b.group.nids {
		why, lost := b.lost[id]
		switch {
		case seen[id]:
		case lost:
			unreached = append(unreached, Unreached{id, unreachedText(why)})
		case slices.Contains(dead, id):
			skipped = append(skipped, id)
		default: // the answer is malformed, or missing
			unreached = append(unreached, Unreached{id, unreachedText(scoll.EPROTO)})
		}
	}
	sortUnreached(unreached)
	return answers, unreached, skipped
}

// nameSkipped moves the dead members that were left out to the list of unreached ones.
func (r *BroadcastReply) nameSkipped() {
	for _, id := range r.Skipped {
		r.Unreached = append(r.Unreached, Unreached{id, unreachedText(scoll.EHOSTDOWN)})
	}
	if len(r.Skipped) > 0 && r.Status != BroadcastUnsent {
		r.Status = BroadcastIncomplete
	}
	r.Skipped = nil
	sortUnreached(r.Unreached)
}

// isMember reports whether a node has to answer. A root that is not in the group does not.
func (b *target) isMember(id nid.NID) bool {
	rank := b.group.members.Rank(id)
	return rank >= 0 && len(b.group.members.Target(rank).Entities) > 0
}

func sortUnreached(list []Unreached) {
	slices.SortStableFunc(list, func(a, b Unreached) int { return a.NID.Compare(b.NID) })
}
