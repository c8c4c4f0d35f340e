-- The table of contents: every verb, in the order of the chapters of sql/.
select * from pgmem.verb order by place;

-- The verbs that change memories, with the role that may call each.
select name, rights, summary from verb where effect in ('write', 'repeat', 'remove') order by place;
