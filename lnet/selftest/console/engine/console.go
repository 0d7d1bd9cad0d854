package engine

import (
	"slices"
	"syscall"
	"time"

	"ulnet/lnet/machine"
)

// Console is the machine of a console. See machine.Machine.
type Console struct {
	cfg       Config
	now       time.Duration
	out       *Output
	deadlines machine.Deadlines[func()]

	session    *session // the session of the console; nil: there is none
	stamp      int64    // stamp of the latest session
	batches    uint64   // number of the latest batch; a new session does not begin anew with it
	operations []*operation
	calls      map[uint64]*call
	queue      []*transaction // transactions with requests that are not sent yet, in the order of their turns
	lastID     uint64         // number of the latest RPC
}

var _ machine.Machine[Input, Output] = (*Console)(nil)

// Command is what the user of a console wants: a pointer to one of the commands of this package.
type Command interface {
	// begin begins the command. If it returns an error, the command has ended.
	begin(c *Console, o *operation) error
}

// operation is a command under way, or what the console does by itself.
type operation struct {
	id      uint64        // number of the command; 0: none
	stopped syscall.Errno // why the RPCs that have not ended are given up; 0: they are not
	refused bool          // the command was refused at once, which does not restart the idle timer of the session
	result  Result
	groups  []*group // groups that no other command may change until the operation has ended
	batches []*batch // batches to which the operation adds a test
	nodes   []*node  // nodes that must not be forgotten until the operation has ended
}

// New returns a machine without a session.
func New(cfg Config) (*Console, error) {
	cfg, err := cfg.filled()
	if err != nil {
		return nil, err
	}
	return &Console{cfg: cfg, lastID: cfg.FirstID, stamp: cfg.FirstStamp, calls: map[uint64]*call{}}, nil
}

// Step implements machine.Machine.
func (c *Console) Step(now time.Duration, in Input, out *Output) (wake time.Duration) {
	c.now, c.out = now, out
	switch in.Kind {
	case Do:
		c.begin(&in)
	case Cancel:
		c.cancel(in.ID)
	case Sent, Replied:
		c.progress(&in)
	case Joined:
		c.join(&in)
	case Used:
		c.use()
	}
	for d := c.deadlines.Pop(now); d != nil; d = c.deadlines.Pop(now) {
		d.Of()
	}
	c.callWaiting()
	c.out = nil
	return c.deadlines.Next()
}

// begin begins a command.
func (c *Console) begin(in *Input) {
	o := &operation{id: in.ID}
	if under := c.commands(); under >= c.cfg.MaxCommands {
		c.do(Effect{Kind: DoAnswer, ID: in.ID, Err: fail(syscall.EAGAIN, "try again when one of them has ended", "%d commands are under way", under)})
		return
	}
	c.operations = append(c.operations, o)
	if n, ok := in.Command.(*NewSession); ok {
		n.console = in.Self
	}
	if err := in.Command.begin(c, o); err != nil {
		o.refused = true
		c.finish(o, err)
	}
}

// commands returns how many commands are under way.
func (c *Console) commands() (count int) {
	for _, o := range c.operations {
		if o.id != 0 {
			count++
		}
	}
	return count
}

// background returns an operation of the console itself.
func (c *Console) background() *operation {
	o := &operation{}
	c.operations = append(c.operations, o)
	return o
}

// finish ends an operation.
func (c *Console) finish(o *operation, err error) {
	c.operations = slices.DeleteFunc(c.operations, func(other *operation) bool { return other == o })
	for _, g := range o.groups {
		g.uses--
	}
	for _, b := range o.batches {
		b.uses--
	}
	for _, n := range o.nodes {
		n.held--
	}
	if c.session != nil {
		c.session.forget(o.nodes)
	}
	if err == nil && o.stopped != 0 {
		err = errStopped(o.stopped)
	}
	if o.id != 0 {
		if !o.refused {
			c.use()
		}
		c.do(Effect{Kind: DoAnswer, ID: o.id, Result: o.result, Err: err})
	}
}

// cancel gives up the RPCs of a command.
func (c *Console) cancel(id uint64) {
	for _, o := range c.operations {
		if o.id == id && id != 0 {
			c.stop(o, syscall.EINTR)
			return
		}
	}
}

// hold keeps nodes from being forgotten until the operation has ended.
func (o *operation) hold(nodes ...*node) {
	for _, n := range nodes {
		n.held++
	}
	o.nodes = append(o.nodes, nodes...)
}

// use keeps other operations from changing a group until o has ended.
func (o *operation) use(g *group) {
	g.uses++
	o.groups = append(o.groups, g)
}
