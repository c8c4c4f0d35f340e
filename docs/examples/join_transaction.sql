begin;
create table if not exists payment (number int primary key, total numeric);
insert into payment values (1, 99.50);
select status from pgmem.save_session('Take the first payment', 'payments');
select status from pgmem.upsert_entity('Payment 1', 'Taken: 99.50', 'payments');
commit;
