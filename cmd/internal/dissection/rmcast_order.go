package dissection

import (
	"fmt"

	"ulnet/lnd/capture"
	"ulnet/lnet/wire"
	rmcastwire "ulnet/scoll/rmcast/wire"
)

// mcastOrder is a message between a member and the manager.
type mcastOrder struct {
	rmcastwire.Order
	mcastFrame
}

func readMcastOrder(_ wire.PutCmd, payload []byte) (capture.Understood, error) {
	payload, frame := readMcastFrame(rmcastwire.ManagerPortal, payload)
	o, err := rmcastwire.ParseOrder(payload)
	if err != nil && o.Kind == 0 {
		return nil, err // the header is not valid
	}
	return &mcastOrder{o, frame}, err
}

func (o *mcastOrder) flags() string {
	var list []string
	for _, f := range []struct {
		flag rmcastwire.OrderFlags
		name string
	}{{rmcastwire.OrderLeaving, "leaving"}, {rmcastwire.OrderAsking, "asking"}, {rmcastwire.OrderReplica, "replica"}, {rmcastwire.OrderTree, "tree"}, {rmcastwire.OrderVote, "vote"}, {rmcastwire.OrderDead, "dead"}} {
		if o.Flags&f.flag != 0 {
			list = append(list, f.name)
		}
	}
	return mcastFlags(list, o.signed)
}

// Summary implements capture.Understood.
func (o *mcastOrder) Summary() string {
	s := fmt.Sprintf("rmcast %s, group %d", o.Kind, o.Group)
	if o.Version.IsValid() {
		s += fmt.Sprintf(", list %v", o.Version)
	}
	switch o.Kind {
	case rmcastwire.OrderJoin:
		s += fmt.Sprintf(", incarnation %d", o.Incarnation)
	case rmcastwire.OrderList:
		s += fmt.Sprintf(" of %d", len(o.Members))
		if o.You != 0 {
			s += fmt.Sprintf(", you are #%d", o.You)
		}
		if len(o.Departed) > 0 {
			s += fmt.Sprintf(", %d failed", len(o.Departed))
		}
	case rmcastwire.OrderKnown:
		if o.Flags&rmcastwire.OrderVote != 0 {
			s += map[bool]string{true: ", you may take over", false: ", you may not take over"}[o.You != 0]
		}
	case rmcastwire.OrderState:
		s += fmt.Sprintf(", usable %v", o.Usable)
	case rmcastwire.OrderRefused:
		s += fmt.Sprintf(": rmcast: %v", rmcastwire.Refusal(o.You))
	}
	if o.Flags&^rmcastwire.OrderTree != 0 {
		s += " (" + o.flags() + ")"
	}
	return s
}

// Details implements capture.Understood.
func (o *mcastOrder) Details() []string {
	lines := []string{
		fmt.Sprintf("%s, version %d, group %d, flags %s, epoch %d", o.Kind, o.version, o.Group, o.flags(), o.Epoch),
		fmt.Sprintf("list %v, usable %v, oldest %v, incarnation %d, you #%d, next #%d", o.Version, o.Usable, o.Oldest, o.Incarnation, o.You, o.Next),
		fmt.Sprintf("MTU %d, capacity %d, window %d", o.MTU, o.Capacity, o.Window),
		fmt.Sprintf("members below #%d had the list before, %d of them count, %d of those that failed were silent", o.Voters, o.Of, o.Silent),
	}
	lines = append(lines, boundedLines(len(o.Members), "%d more members", func(i int) string {
		m := &o.Members[i]
		return fmt.Sprintf("member #%d: %v, incarnation %d", m.Number, m.NID, m.Incarnation)
	})...)
	return append(lines, boundedLines(len(o.Departed), "%d more that failed", func(i int) string {
		return fmt.Sprintf("failed: %v, incarnation %d", o.Departed[i].NID, o.Departed[i].Incarnation)
	})...)
}
