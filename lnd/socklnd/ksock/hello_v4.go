package ksock

import "ulnet/lnet/nid"

// appendV4 appends the form with extended NIDs. No address list follows it.
func (h *Hello) appendV4(b []byte) ([]byte, error) {
	o := byteOrder(h.BigEndian)
	b = o.AppendUint32(b, Magic)              // kshm_magic
	b = o.AppendUint32(b, uint32(h.Version))  // kshm_version
	b = h.SrcNID.AppendExtended(b)            // kshm_src_nid
	b = h.DstNID.AppendExtended(b)            // kshm_dst_nid
	b = o.AppendUint32(b, uint32(h.SrcPID))   // kshm_src_pid
	b = o.AppendUint32(b, uint32(h.DstPID))   // kshm_dst_pid
	b = o.AppendUint64(b, h.SrcIncarnation)   // kshm_src_incarnation
	b = o.AppendUint64(b, h.DstIncarnation)   // kshm_dst_incarnation
	b = o.AppendUint32(b, uint32(h.ConnType)) // kshm_ctype
	b = o.AppendUint32(b, h.AddressCount)     // kshm_nips
	return b, nil
}

func (h *Hello) parseV4(b []byte) (err error) {
	o := byteOrder(h.BigEndian)
	if h.SrcNID, _, err = nid.ParseExtended(b[8:28]); err != nil { // kshm_src_nid
		return err
	}
	if h.DstNID, _, err = nid.ParseExtended(b[28:48]); err != nil { // kshm_dst_nid
		return err
	}
	h.SrcPID = nid.PID(o.Uint32(b[48:]))           // kshm_src_pid
	h.DstPID = nid.PID(o.Uint32(b[52:]))           // kshm_dst_pid
	h.SrcIncarnation = o.Uint64(b[56:])            // kshm_src_incarnation
	h.DstIncarnation = o.Uint64(b[64:])            // kshm_dst_incarnation
	h.ConnType = ConnType(int32(o.Uint32(b[72:]))) // kshm_ctype
	h.AddressCount = o.Uint32(b[76:])              // kshm_nips
	return nil
}
