package history

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/sim"
)

var all = sim.AllNodes

// checkers has the checkers by their names in the tables.
var checkers = map[string]func(*Log) []Violation{
	"AtMostOnce":      AtMostOnce,
	"Alternation":     Alternation,
	"NoResurrection":  NoResurrection,
	"NoFalse":         func(l *Log) []Violation { return NoFalse(l, 3*time.Second) },
	"ExactFailureSet": func(l *Log) []Violation { return ExactFailureSet(l, all) },
}

// histories were written by hand: want is the text of all violations, "" for none.
var histories = []struct{ checker, name, log, want string }{
	{"AtMostOnce", "each once", "up 2\n1s 1 delivery 2 =5\n2s 1 delivery 2 =6\n2s 2 delivery 2 =5\n2s 1 delivery 1 =5", ""},
	{"AtMostOnce", "again in a new life", "up 2\n1s 1 delivery 2 =5\n2s 1 kill\n3s 1 start\n4s 1 delivery 2 =5", ""},
	{"AtMostOnce", "twice", "up 2\n1s 1 delivery 2 =5\n2s 1 delivery 2 =6\n3s 1 delivery 2 =5", `
AtMostOnce: node 1 was told 2 times of value 5 of node 2
  1s node 1.0: delivery of 2 value 5
  3s node 1.0: delivery of 2 value 5`},

	{"Alternation", "in turn", "up 1\n1s 1 join 2\n2s 1 death 2\n3s 1 join 2\n4s 1 leave 2\n5s 1 join 2\n6s 1 eviction 2", ""},
	{"Alternation", "from the start in a new life", "up 1\n1s 1 join 2\n2s 1 kill\n3s 1 start\n4s 1 join 2", ""},
	{"Alternation", "two joins", "up 1\n1s 1 join 2\n2s 1 join 3\n3s 1 join 2", `
Alternation: node 1 was told twice that node 2 joined
  1s node 1.0: join of 2
  3s node 1.0: join of 2`},
	{"Alternation", "two ends", "up 1\n1s 1 join 2\n2s 1 leave 2\n3s 1 death 2", `
Alternation: node 1 was told of the death of node 2, which was no member
  2s node 1.0: leave of 2
  3s node 1.0: death of 2`},
	{"Alternation", "an end at first", "up 1\n3s 1 death 2", `
Alternation: node 1 was told of the death of node 2, which was no member
  3s node 1.0: death of 2`},

	{"NoResurrection", "a new life", "up 2\n1s 1 join 2\n2s 2 kill\n3s 1 death 2\n4s 2 start\n5s 1 join 2", ""},
	{"NoResurrection", "a new life before the death is told", "up 2\n1s 1 join 2\n2s 2 kill\n3s 2 start\n4s 1 death 2\n5s 1 join 2", ""},
	{"NoResurrection", "not really dead", "up 2\n1s 1 join 2\n3s 1 death 2\n5s 1 join 2", ""},
	{"NoResurrection", "from the dead", "up 2\n1s 1 join 2\n2s 2 crash\n3s 1 death 2\n5s 1 join 2", `
NoResurrection: node 1 was told that node 2 joined, which is dead
  2s node 2.0: crash
  3s node 1.0: death of 2
  5s node 1.0: join of 2`},

	{"NoFalse", "dead", "up 2\n5s 2 kill\n6s 1 death 2", ""},
	{"NoFalse", "paused", "up 2\n5s 2 pause\n6s 1 death 2\n7s 2 resume", ""},
	{"NoFalse", "paused until lately", "up 2\n5s 2 pause\n6s 2 resume\n7s 1 death 2", ""},
	{"NoFalse", "the observer was paused", "up 2\n5s 1 pause\n6s 1 resume\n7s 1 death 2", ""},
	{"NoFalse", "in a new life", "up 2\n5s 2 kill\n6s 2 start\n7s 1 death 2", ""},
	{"NoFalse", "partitioned", "up 2\n5s - partition 1 | 2\n9s 1 death 2", ""},
	{"NoFalse", "healed lately", "up 2\n5s - partition 1 | 2\n9s - heal\n10s 1 death 2", ""},
	{"NoFalse", "cut one way", "up 2\n5s - cut 2 -> 1\n9s 1 death 2", ""},
	{"NoFalse", "the link loses all", "up 2\n5s - links 1 -> all loss 100%\n9s 1 death 2", ""},
	{"NoFalse", "all links lose less since, but for this one", "up 2\n1s - links all -> all loss 100%\n2s - links 1 -> 2 loss 0%\n9s 1 death 2", ""},
	{"NoFalse", "the links lost all until long ago", "up 2\n1s - links all -> all loss 100%\n2s - links all -> all loss 1%\n9s 1 death 2", `
NoFalse: node 1 was told that node 2 died, which runs and is connected for 3s or longer
  0s node 2.0: start
  9s node 1.0: death of 2`},
	{"NoFalse", "fine", "up 2\n9s 1 death 2", `
NoFalse: node 1 was told that node 2 died, which runs and is connected for 3s or longer
  0s node 2.0: start
  9s node 1.0: death of 2`},
	{"NoFalse", "healed long ago, on the same side of a partition", "up 3\n1s - partition 1 | 2\n2s - heal\n3s 2 pause\n4s 2 resume\n5s - partition 1,2 | 3\n6s - links 1 -> 2 loss 10%\n9s 1 death 2", `
NoFalse: node 1 was told that node 2 died, which runs and is connected for 3s or longer
  0s node 2.0: start
  9s node 1.0: death of 2`},

	{"ExactFailureSet", "all reached", "up 3\n1s 1 send =5\n2s 2 delivery 1 =5\n2s 3 delivery 1 =5\n3s 1 completion =5", ""},
	{"ExactFailureSet", "one unreached", "up 3\n0s 3 kill\n1s 1 send =5\n2s 2 delivery 1 =5\n3s 1 unreached 3 =5\n3s 1 completion =5", ""},
	{"ExactFailureSet", "died after the delivery", "up 2\n1s 1 send =5\n2s 2 delivery 1 =5\n2s 2 kill\n3s 1 unreached 2 =5\n3s 1 completion =5", ""},
	{"ExactFailureSet", "not complete yet", "up 2\n1s 1 send =5\n2s 1 unreached 2 =5", ""},
	{"ExactFailureSet", "unreached and not reported", "up 2\n1s 1 send =5\n3s 1 completion =5\n4s 2 delivery 1 =5", `
ExactFailureSet: node 2 was not told of value 5 of node 1, which does not report it
  1s node 1.0: send value 5
  3s node 1.0: completion value 5`},
	{"ExactFailureSet", "reached and reported", "up 2\n1s 1 send =5\n2s 2 delivery 1 =5\n3s 1 unreached 2 =5\n3s 1 completion =5", `
ExactFailureSet: node 2 was told of value 5 of node 1, which reports it as unreached
  2s node 2.0: delivery of 1 value 5
  3s node 1.0: unreached of 2 value 5
  3s node 1.0: completion value 5`},
	{"ExactFailureSet", "no member", "up 1\n1s 1 send =5\n3s 1 unreached 2 =5\n3s 1 completion =5", `
ExactFailureSet: node 2 is no member, and node 1 reports it as unreached
  3s node 1.0: unreached of 2 value 5
  3s node 1.0: completion value 5`},
}

func TestCheckers(t *testing.T) {
	seen := map[string]int{}
	for _, test := range histories {
		t.Run(test.checker+"/"+test.name, func(t *testing.T) {
			var b strings.Builder
			for _, v := range checkers[test.checker](script(t, test.log)) {
				b.WriteString("\n" + v.String())
			}
			if diff := cmp.Diff(test.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		if test.want != "" {
			seen[test.checker]++
		}
	}
	for name := range checkers {
		if seen[name] == 0 {
			t.Errorf("no history violates %s", name)
		}
	}
}
