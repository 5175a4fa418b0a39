# An SMSC on Net::SMPP, which shares no code with Columba or npm smpp. It takes one bind_transceiver, prints each
# submit_sm as a line of JSON, answers it, and sends its receipt.
use strict;
use warnings;
use IO::Handle;
use Net::SMPP;

STDOUT->autoflush(1);
my $server = Net::SMPP->new_listen('127.0.0.1', port => 0, smpp_version => 0x34) or die "cannot listen: $!";
print '{"port":' . $server->sockport . "}\n";
my $client = $server->accept or die "cannot accept: $!";
my $id = 0;
while (my $pdu = $client->read_pdu) {
  my $name = Net::SMPP::pdu_tab->{$pdu->{cmd}}{cmd} // '';
  if ($name eq 'bind_transceiver') {
    $client->bind_transceiver_resp(system_id => 'perl', seq => $pdu->{seq});
  } elsif ($name eq 'enquire_link') {
    $client->enquire_link_resp(seq => $pdu->{seq});
  } elsif ($name eq 'unbind') {
    $client->unbind_resp(seq => $pdu->{seq});
    last;
  } elsif ($name eq 'submit_sm') {
    my $message_id = sprintf 'perl-%d', ++$id;
    my $tlv = $pdu->{0x1401} // '';
    printf qq({"to":"%s","from":"%s","coding":%d,"esm":%d,"octets":"%s","template":"%s"}\n),
      $pdu->{destination_addr}, $pdu->{source_addr}, $pdu->{data_coding}, $pdu->{esm_class},
      unpack('H*', $pdu->{short_message}), unpack('H*', $tlv);
    $client->submit_sm_resp(message_id => $message_id, seq => $pdu->{seq});
    $client->deliver_sm(
      source_addr_ton => 1, source_addr_npi => 1, source_addr => $pdu->{destination_addr},
      destination_addr => $pdu->{source_addr}, esm_class => 4, async => 1,
      short_message => "id:$message_id sub:001 dlvrd:001 submit date:2611181200 done date:2611181200 stat:DELIVRD err:000 text:",
    );
  }
}
