package scoll

import (
	"encoding/binary"
	"slices"
)

// callQuestion is the payload of a call's request:
//
//	0  1  version
//	1  …  1 more than the number of ranges, uvarint; 0: all members are asked
//	…  …  for each range: number of ranks between the range before and this one, number of ranks in it; uvarints
//	…     the payload that the caller gave
//
// Ranks are those of the whole group.
type callQuestion struct {
	only    rankSet
	payload []byte
}

const questionVersion = 1

// rankSet is a set of ranks as a list of range ends: each range goes from an element at an even index up to,
// but not including, the next element. nil means all ranks.
type rankSet []int

// newRankSet returns a set of ranks, which may be in any order.
func newRankSet(ranks []int) rankSet {
	ranks = slices.Clone(ranks)
	slices.Sort(ranks)
	set := rankSet{}
	for _, rank := range slices.Compact(ranks) {
		if n := len(set); n > 0 && set[n-1] == rank {
			set[n-1]++
		} else {
			set = append(set, rank, rank+1)
		}
	}
	return set
}

func (s rankSet) includes(rank int) bool {
	at, found := slices.BinarySearch(s, rank)
	if found {
		at++
	}
	return s == nil || at%2 == 1
}

func (q *callQuestion) append(b []byte) []byte {
	b = append(b, questionVersion)
	if q.only == nil {
		return append(append(b, 0), q.payload...)
	}
	b = binary.AppendUvarint(b, uint64(len(q.only)/2+1))
	end := 0
	for i := 0; i < len(q.only); i += 2 {
		b = binary.AppendUvarint(b, uint64(q.only[i]-end))
		b = binary.AppendUvarint(b, uint64(q.only[i+1]-q.only[i]))
		end = q.only[i+1]
	}
	return append(b, q.payload...)
}

func parseQuestion(b []byte) (q callQuestion, err error) {
	if len(b) == 0 || b[0] != questionVersion {
		return q, EPROTO
	}
	b = b[1:]
	count, ok := cutUvarint(&b, uint64(len(b))+1)
	if !ok {
		return q, EPROTO
	}
	if count > 0 {
		q.only = rankSet{}
	}
	end := 0
	for i := uint64(1); i < count; i++ {
		gap, ok1 := cutUvarint(&b, 1<<31)
		size, ok2 := cutUvarint(&b, 1<<31)
		if !ok1 || !ok2 || size == 0 || end > 0 && gap == 0 || uint64(end)+gap+size >= 1<<31 {
			return q, EPROTO
		}
		q.only = append(q.only, end+int(gap), end+int(gap+size))
		end += int(gap + size)
	}
	q.payload = b
	return q, nil
}
