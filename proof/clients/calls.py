"""Makes calls through zeep and prints what it returned; programs.ts says how both are written.

Input: {"address", "version", "calls": [{"group", "operation", "arguments"}]}.
"""

import json
import sys
from datetime import datetime

from lxml import etree
from zeep import Client, Transport
from zeep.exceptions import Fault, ValidationError
from zeep.xsd import CompoundValue

# In the WSDL of account the lists of GET and POST are derived from SOAP's Array, as ASMX published them, and name no place
# from where to take its schema. zeep then downloads it from the address that is its namespace. This much of it will do:
# the SOAP bindings do not use that type.
SOAP_ENCODING = 'http://schemas.xmlsoap.org/soap/encoding/'
SOAP_ENCODING_SCHEMA = b"""<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"
  targetNamespace="http://schemas.xmlsoap.org/soap/encoding/"><xs:complexType name="Array"><xs:sequence>
  <xs:any minOccurs="0" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:schema>"""


class LocalTransport(Transport):
    """Asks the service and nobody else, and keeps its last response."""

    def __init__(self, address):
        super().__init__()
        self.address = address
        self.response = None

    def load(self, url):
        if url == SOAP_ENCODING:
            return SOAP_ENCODING_SCHEMA
        if not url.startswith(self.address):
            raise ValueError(f'zeep wants to load {url}')
        return super().load(url)

    def post(self, address, message, headers):
        self.response = super().post(address, message, headers)
        return self.response


def untagged(value):
    if '$integer' in value:
        return int(value['$integer'])
    if '$dateTime' in value:
        return datetime.fromisoformat(value['$dateTime'].replace('Z', '+00:00'))
    return value


def tagged(value):
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return {'$integer': str(value)}
    if isinstance(value, datetime):
        return {'$dateTime': value.isoformat()}
    if isinstance(value, list):
        return [tagged(item) for item in value]
    if isinstance(value, CompoundValue):
        return tagged(value.__values__)
    if isinstance(value, dict):
        return {name: tagged(item) for name, item in value.items()}
    if isinstance(value, etree._Element):
        return {'$xml': etree.tostring(value, encoding='unicode', with_tail=False)}
    return {'$other': type(value).__name__}


def outcome(service, transport, operation, arguments):
    try:
        made = {'answer': tagged(service[operation](**arguments))}
    except ValidationError as error:
        return {'refused': str(error)}
    except Fault as fault:
        made = {'fault': {'code': fault.code, 'text': fault.message, 'detail': tagged(fault.detail)}}
    return {**made, 'status': transport.response.status_code, 'xml': transport.response.content.decode()}


def main():
    asked = json.load(sys.stdin, object_hook=untagged)
    transport = LocalTransport(asked['address'])
    services = {}
    made = []
    for call in asked['calls']:
        group = call['group']
        if group not in services:
            client = Client(f'{asked["address"]}/api/{group}.asmx?WSDL', transport=transport)
            services[group] = client.bind(group, f'{group}Soap12' if asked['version'] == 'soap12' else f'{group}Soap')
        made.append(outcome(services[group], transport, call['operation'], call['arguments']))
    json.dump(made, sys.stdout)


main()
