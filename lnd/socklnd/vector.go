package socklnd

// vector is a list of memory pieces for one scattered read or gathered write.
// It keeps its arrays from one use to the next, so it allocates only while it
// grows.
type vector struct {
	pieces [][]byte
	first  int     // index of the first piece that is not done
	total  int     // bytes in the pieces that are not done
	iov    []iovec // memory of the system call's arguments
}

// add appends a piece, which must not be empty.
func (v *vector) add(b []byte) {
	v.pieces = append(v.pieces, b)
	v.total += len(b)
}

// recount computes total after pieces were appended directly.
func (v *vector) recount() {
	v.total = 0
	for _, p := range v.left() {
		v.total += len(p)
	}
}

// left returns the pieces that are not done. Valid until the next call.
func (v *vector) left() [][]byte { return v.pieces[v.first:] }

// advance marks the next n bytes as transferred.
func (v *vector) advance(n int) {
	v.total -= n
	for n > 0 {
		p := v.pieces[v.first]
		if n < len(p) {
			v.pieces[v.first] = p[n:]
			return
		}
		n -= len(p)
		v.first++
	}
}

// each calls f with the pieces of memory in which the next n bytes lie.
func (v *vector) each(n int, f func([]byte)) {
	for _, p := range v.left() {
		if n <= 0 {
			return
		}
		p = p[:min(n, len(p))]
		n -= len(p)
		f(p)
	}
}

// reset empties v and drops its references to memory.
func (v *vector) reset() {
	clear(v.pieces)
	clear(v.iov)
	v.pieces, v.iov = v.pieces[:0], v.iov[:0]
	v.first, v.total = 0, 0
}
