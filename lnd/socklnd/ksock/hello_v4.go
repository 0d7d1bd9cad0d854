package ksock

import "ulnet/lnet/nid"

// appendV4 appends the form with extended NIDs. No address list follows it.
func (h *Hello) appendV4(b []byte) ([]byte, error) {
	o := byteOrder(h.BigEndian)
	b = o.AppendUint32(b, Magic)              // field kshm_magic of struct ksock_hello_msg
	b = o.AppendUint32(b, uint32(h.Version))  // field kshm_version of struct ksock_hello_msg
	b = h.SrcNID.AppendExtended(b)            // field kshm_src_nid of struct ksock_hello_msg
	b = h.DstNID.AppendExtended(b)            // field kshm_dst_nid of struct ksock_hello_msg
	b = o.AppendUint32(b, uint32(h.SrcPID))   // field kshm_src_pid of struct ksock_hello_msg
	b = o.AppendUint32(b, uint32(h.DstPID))   // field kshm_dst_pid of struct ksock_hello_msg
	b = o.AppendUint64(b, h.SrcIncarnation)   // field kshm_src_incarnation of struct ksock_hello_msg
	b = o.AppendUint64(b, h.DstIncarnation)   // field kshm_dst_incarnation of struct ksock_hello_msg
	b = o.AppendUint32(b, uint32(h.ConnType)) // field kshm_ctype of struct ksock_hello_msg
	b = o.AppendUint32(b, h.AddressCount)     // field kshm_nips of struct ksock_hello_msg
	return b, nil
}

func (h *Hello) parseV4(b []byte) (err error) {
	o := byteOrder(h.BigEndian)
	if h.SrcNID, _, err = nid.ParseExtended(b[8:28]); err != nil { // field kshm_src_nid of struct ksock_hello_msg
		return err
	}
	if h.DstNID, _, err = nid.ParseExtended(b[28:48]); err != nil { // field kshm_dst_nid of struct ksock_hello_msg
		return err
	}
	h.SrcPID = nid.PID(o.Uint32(b[48:]))           // field kshm_src_pid of struct ksock_hello_msg
	h.DstPID = nid.PID(o.Uint32(b[52:]))           // field kshm_dst_pid of struct ksock_hello_msg
	h.SrcIncarnation = o.Uint64(b[56:])            // field kshm_src_incarnation of struct ksock_hello_msg
	h.DstIncarnation = o.Uint64(b[64:])            // field kshm_dst_incarnation of struct ksock_hello_msg
	h.ConnType = ConnType(int32(o.Uint32(b[72:]))) // field kshm_ctype of struct ksock_hello_msg
	h.AddressCount = o.Uint32(b[76:])              // field kshm_nips of struct ksock_hello_msg
	return nil
}
