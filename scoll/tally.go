package scoll

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ulnet/scoll/tree"
)

// Values that a tally has for a member whose answer has no status.
const (
	notKnown Status = 0xffff // the answer of the member has not arrived
	notAsked Status = 0xfffe // the member only forwards the call
)

// maxText bounds the text of an error, in bytes. maxTexts bounds all texts in an answer together, each of which counts
// 4 bytes more. An error without room for its text has only a status.
const (
	maxText  = 200
	maxTexts = 16 << 10
)

// tallyVersion is the first byte of an answer of a handler.
const tallyVersion = 1

// tally has a status for each member of a subtree: OK if the payload that follows includes its
// answer, otherwise the status with which it failed. Encoded, integers little-endian:
//
//	0  1  version
//	1  …  rank of the subtree's topmost member, uvarint
//	…  …  for the members in the order of tree.Tree.AppendSubtree: number of members,
//	      uvarint, and their status, 2 bytes; repeated for all members
//	…  …  number of texts, uvarint
//	…  …  for each: position of the member, uvarint, length, uvarint, UTF-8
//
// Ranks are those of the tree. They are equal to the group's ranks unless the request goes to
// the live members only.
type tally struct {
	nodes     []int       // ranks of the members, in the order of encoding
	positions map[int]int // positions of the ranks in nodes; nil until needed
	status    []Status    // status of each member, by position
	texts     map[int]string
	size      int // encoded size of all texts, in bytes
}

func newTally(t tree.Tree, rank int) *tally {
	y := &tally{nodes: t.AppendSubtree(nil, rank)}
	y.status = slices.Repeat([]Status{notKnown}, len(y.nodes))
	return y
}

// position returns the position of a rank, or -1.
func (y *tally) position(rank int) int {
	if rank == y.nodes[0] {
		return 0
	}
	if y.positions == nil {
		y.positions = make(map[int]int, len(y.nodes))
		for i, r := range y.nodes {
			y.positions[r] = i
		}
	}
	if i, ok := y.positions[rank]; ok {
		return i
	}
	return -1
}

// set sets the status of a member, with the text of its error if there is room. It removes
// the text of an earlier status.
func (y *tally) set(position int, s Status, text string) {
	y.status[position] = s
	if before, ok := y.texts[position]; ok {
		y.size -= len(before) + textHead
		delete(y.texts, position)
	}
	if text = cleanText(text); text == "" || y.size+len(text)+textHead > maxTexts {
		return
	}
	if y.texts == nil {
		y.texts = make(map[int]string)
	}
	y.size += len(text) + textHead
	y.texts[position] = text
}

// textHead is the overhead of a text in bytes.
const textHead = 4

// fail sets the status of members whose answers are not in the payload after all.
func (y *tally) fail(failed []int, s Status, text string) {
	for _, rank := range failed {
		if i := y.position(rank); i >= 0 && y.status[i] == OK {
			y.set(i, s, text)
		}
	}
}

// count returns how many members' answers are in the payload.
func (y *tally) count() (n int) {
	for _, s := range y.status {
		if s == OK {
			n++
		}
	}
	return n
}

// take copies the tally of a subtree. It returns false, and copies nothing, if a member is
// not in this tally or has a status already.
func (y *tally) take(answer *subAnswer) bool {
	for i, rank := range answer.tally.nodes {
		p := y.position(rank)
		if p < 0 || answer.tally.status[i] != notKnown && y.status[p] != notKnown {
			return false
		}
	}
	for i, rank := range answer.tally.nodes {
		if s := answer.tally.status[i]; s != notKnown {
			y.set(y.position(rank), s, answer.tally.texts[i])
		}
	}
	return true
}

// maxTallySize returns the size of the longest encoding of a tally of the given number of
// members.
func maxTallySize(members int) int {
	return 1 + binary.MaxVarintLen32 + 3*members + binary.MaxVarintLen32 + min(maxTexts+2*binary.MaxVarintLen32, members*(maxText+8))
}

// append appends the encoded tally.
func (y *tally) append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, tallyVersion), uint64(y.nodes[0]))
	for rest := y.status; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n] == rest[0] {
			n++
		}
		b = binary.LittleEndian.AppendUint16(binary.AppendUvarint(b, uint64(n)), uint16(rest[0]))
		rest = rest[n:]
	}
	b = binary.AppendUvarint(b, uint64(len(y.texts)))
	for i := range y.status {
		if text, ok := y.texts[i]; ok {
			b = binary.AppendUvarint(b, uint64(i))
			b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		}
	}
	return b
}

// subAnswer is an answer of a child, or of a node below it.
type subAnswer struct {
	rank    int
	tally   *tally
	payload []byte
}

// parseTally parses the tally of a child, or of a node below it, whose answer the child
// passes on.
func parseTally(b []byte, t tree.Tree, child int) (a subAnswer, err error) {
	if len(b) == 0 || b[0] != tallyVersion {
		return a, EPROTO
	}
	b = b[1:]
	rank, ok := cutUvarint(&b, uint64(t.N))
	if a.rank = int(rank); !ok || !isBelow(t, a.rank, child) {
		return a, EPROTO
	}
	a.tally = newTally(t, a.rank)
	if !a.tally.parseStatus(&b) || !a.tally.parseTexts(&b) {
		return a, EPROTO
	}
	a.payload = b
	return a, nil
}

// isBelow reports whether a node is in the subtree of top.
func isBelow(t tree.Tree, rank, top int) bool {
	for rank != top {
		parent, ok := t.Parent(rank)
		if !ok {
			return false
		}
		rank = parent
	}
	return true
}

func (y *tally) parseStatus(b *[]byte) bool {
	for done := 0; done < len(y.status); {
		n, ok := cutUvarint(b, uint64(len(y.status)-done)+1)
		if !ok || n == 0 || len(*b) < 2 {
			return false
		}
		s := Status(binary.LittleEndian.Uint16(*b))
		*b = (*b)[2:]
		for range n {
			y.status[done] = s
			done++
		}
	}
	return true
}

func (y *tally) parseTexts(b *[]byte) bool {
	count, ok := cutUvarint(b, uint64(len(y.status))+1)
	for range count {
		i, ok1 := cutUvarint(b, uint64(len(y.status)))
		size, ok2 := cutUvarint(b, maxText+1)
		if !ok1 || !ok2 || size > uint64(len(*b)) {
			return false
		}
		y.set(int(i), y.status[i], string((*b)[:size]))
		*b = (*b)[size:]
	}
	return ok
}

// cutUvarint removes a number from the beginning of b, which must be less than below.
func cutUvarint(b *[]byte, below uint64) (n uint64, ok bool) {
	n, size := binary.Uvarint(*b)
	if size <= 0 || n >= below {
		return 0, false
	}
	*b = (*b)[size:]
	return n, true
}

// cleanText makes the text of an error, which may come from another node, safe for a terminal:
// one line of printable characters, of at most maxText bytes.
func cleanText(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, strings.TrimSpace(text[:min(len(text), 4*maxText)]))
	for len(text) > maxText {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}
