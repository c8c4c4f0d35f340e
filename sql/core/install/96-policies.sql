-- Policies: row-level security
--
-- The verbs and the views filter by tenant themselves, and no client has a right to a table. Row-level security is
-- behind that, for a login that is granted one all the same: a row is shown if its tenant is the caller's, its
-- organisation's or the public one; a row that belongs to a node if the node is, an edge if both its ends are. Tables
-- without a policy show nothing to a client. Each table is declared (declare_table), and its policy follows from that.
--
-- Security is enabled and not forced: the verbs run as the owner and filter by themselves, because a policy keeps the
-- operators of GIN out of index conditions.
--
-- Locks: those of secure_table (07-tables).


select pgmem.make_label_rules();  -- every label is declared


do $$
begin
  perform pgmem.secure_table(t.name) from pgmem.table_rule t order by t.name;
end;
$$;
