package o2iblnd

import "testing"

// TestNumbersRest: the number of a connection that has ended is not reused at once. The table does
// not grow because of the numbers that are not reused yet.
func TestNumbersRest(t *testing.T) {
	var table connTable
	since := map[uint32]int{}
	for i := range 1000 {
		c := new(conn)
		table.add(c)
		if last, used := since[c.id]; used && i-last < restingIDs {
			t.Fatalf("number %d was free for %d connections", c.id, i-last)
		}
		if table.at(c.id) != c || table.len() != 1 || len(table.all()) != 1 {
			t.Fatal("the connection is not in the table")
		}
		table.remove(c)
		since[c.id] = i
		if table.at(c.id) != nil {
			t.Fatal("a connection that was removed is in the table")
		}
	}
	if n := len(*table.list.Load()); n != restingIDs+1 {
		t.Errorf("a table of %d numbers", n)
	}
}
