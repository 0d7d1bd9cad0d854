package lnd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQueueOrder(t *testing.T) {
	messages := make([]Message, 6)
	var q Queue
	for i := range messages {
		messages[i].Priority = i%3 == 2
		q.Push(&messages[i])
	}
	drain := func() (order []int) {
		for m := q.Pop(); m != nil; m = q.Pop() {
			order = append(order, indexOf(messages, m))
			if m.Link != nil {
				t.Error("a popped message still has a link")
			}
		}
		return order
	}
	if diff := cmp.Diff([]int{2, 5, 0, 1, 3, 4}, drain()); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if q.Len() != 0 {
		t.Errorf("%d left in an empty queue", q.Len())
	}
}

func indexOf(messages []Message, m *Message) int {
	for i := range messages {
		if &messages[i] == m {
			return i
		}
	}
	return -1
}

func TestQueueTake(t *testing.T) {
	messages := make([]Message, 5)
	var q Queue
	for i := range messages {
		messages[i].Priority = i == 3
		q.Push(&messages[i])
	}
	var taken, kept []int
	for m := q.Take(func(m *Message) bool { return indexOf(messages, m)%2 == 1 }); m != nil; m = m.Link {
		taken = append(taken, indexOf(messages, m))
	}
	for m := q.Pop(); m != nil; m = q.Pop() {
		kept = append(kept, indexOf(messages, m))
	}
	if diff := cmp.Diff([][]int{{3, 1}, {0, 2, 4}}, [][]int{taken, kept}); diff != "" {
		t.Errorf("taken and kept (-want +got):\n%s", diff)
	}
}
